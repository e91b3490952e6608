/// Certificates that no client may accept, and their key: for tests only, they guard nothing.
enum BadIdentity {
  /// For `localhost` and 127.0.0.1, until February 2020.
  static let expired = """
    -----BEGIN CERTIFICATE-----
    MIIBZjCCAQugAwIBAgIBATAKBggqhkjOPQQDAjAUMRIwEAYDVQQDDAlsb2NhbGhv
    c3QwHhcNMjAwMTAxMDAwMDAwWhcNMjAwMjAxMDAwMDAwWjAUMRIwEAYDVQQDDAls
    b2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQcNMk3MhxpB46V2cH0
    p+lDoA3IDe0nabJWpLGvLd31b3DjEJNdM1tw+73dUGqG3AmFrOaVfo4Z/Pce22LC
    0rD5o04wTDAPBgNVHRMBAf8EBTADAQH/MBoGA1UdEQQTMBGCCWxvY2FsaG9zdIcE
    fwAAATAdBgNVHQ4EFgQUEYDG+nGsx82kaUhuX4T3fWsBXnMwCgYIKoZIzj0EAwID
    SQAwRgIhAMJTAkAaEXQ4Ff2ooNkCVgvfPwuEo30BcavHVFFtjejpAiEAtO9ppBvC
    K18ysvl/0iMDNAARhjQY9mMwhGmjgJmACFk=
    -----END CERTIFICATE-----
    """
  /// For `elsewhere.invalid`, until 2120.
  static let otherName = """
    -----BEGIN CERTIFICATE-----
    MIIBeTCCAR+gAwIBAgIBAjAKBggqhkjOPQQDAjAcMRowGAYDVQQDDBFlbHNld2hl
    cmUuaW52YWxpZDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDIwMTAwMDAwMFowHDEa
    MBgGA1UEAwwRZWxzZXdoZXJlLmludmFsaWQwWTATBgcqhkjOPQIBBggqhkjOPQMB
    BwNCAAQcNMk3MhxpB46V2cH0p+lDoA3IDe0nabJWpLGvLd31b3DjEJNdM1tw+73d
    UGqG3AmFrOaVfo4Z/Pce22LC0rD5o1AwTjAPBgNVHRMBAf8EBTADAQH/MBwGA1Ud
    EQQVMBOCEWVsc2V3aGVyZS5pbnZhbGlkMB0GA1UdDgQWBBQRgMb6cazHzaRpSG5f
    hPd9awFeczAKBggqhkjOPQQDAgNIADBFAiAPhRLo50jYP20/B+GvWcXjnR7eH+Fu
    BZZjCHpfsATiGwIhAL/16NuLuXvx3jTjrNrf5Uq5mOmq7EBF6K6pmpBVVn5N
    -----END CERTIFICATE-----
    """
  static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgv5WKNmNBlBj/jWOx
    MpXSb2O547iWtGsNjSMiEEuofAehRANCAAQcNMk3MhxpB46V2cH0p+lDoA3IDe0n
    abJWpLGvLd31b3DjEJNdM1tw+73dUGqG3AmFrOaVfo4Z/Pce22LC0rD5
    -----END PRIVATE KEY-----
    """
}
