/// A self-signed certificate for `localhost` that is valid until 2126, and its key: for tests only, they guard nothing.
let testCertificate = """
  -----BEGIN CERTIFICATE-----
  MIIBmjCCAUGgAwIBAgIUUqfZyp/tFvSZ5G4lmqgXhaKGZPAwCgYIKoZIzj0EAwIw
  FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEzMDA2NDgyOFoYDzIxMjYxMTA2
  MDY0ODI4WjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
  PQMBBwNCAATv9sI456gNXePCtmPeiT9HOuMw3i4kSkf1sHQr97VpR8JdwZth0GVy
  S/P4gp/1Bhr8hBg2yucDNOPvtg2c9FnBo28wbTAdBgNVHQ4EFgQUgPeArFEKLhin
  2rWwm05womSKxzowHwYDVR0jBBgwFoAUgPeArFEKLhin2rWwm05womSKxzowDwYD
  VR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgglsb2NhbGhvc3SHBH8AAAEwCgYIKoZI
  zj0EAwIDRwAwRAIgBDkWlLZmQdH5FVlf4M4eiia+QtgeQj0r8Ut9IuCaPeYCIC+u
  3A70oezKTGMk12Ve5pS8BD/hDuIfmhmbAslWIr6O
  -----END CERTIFICATE-----
  """

let testKey = """
  -----BEGIN PRIVATE KEY-----
  MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgIiRlrsLGzukG+QnM
  Pa5uKHHJnuViy0qHjb9OLrsylCehRANCAATv9sI456gNXePCtmPeiT9HOuMw3i4k
  Skf1sHQr97VpR8JdwZth0GVyS/P4gp/1Bhr8hBg2yucDNOPvtg2c9FnB
  -----END PRIVATE KEY-----
  """
