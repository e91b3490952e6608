// placeholder, replaced by the first helper of the tests
