import CCurl

// What curl calls on the engine's thread while a transfer is in `curl_multi_perform`. The context is the `Transfer`,
// which the engine keeps alive for as long as its handle is in the multi handle.

func segrecReadBody(
  _ buffer: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let buffer = unsafe buffer, let transfer = unsafe transfer(context) else { return Int(CURL_READFUNC_ABORT) }
  var span = unsafe MutableRawSpan(_unsafeStart: buffer, byteCount: size * count)
  return transfer.readBody(into: &span)
}

func segrecSeekBody(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
  guard origin == SEEK_SET, let transfer = unsafe transfer(context), transfer.seekBody(to: Int64(offset)) else {
    return CURL_SEEKFUNC_FAIL
  }
  return CURL_SEEKFUNC_OK
}

func segrecReceiveHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let bytes = unsafe bytes, let transfer = unsafe transfer(context) else { return 0 }
  transfer.receiveHeader(unsafe RawSpan(_unsafeStart: bytes, byteCount: size * count))
  return size * count
}

func segrecReceiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let bytes = unsafe bytes, let transfer = unsafe transfer(context) else { return 0 }
  transfer.receiveBody(unsafe RawSpan(_unsafeStart: bytes, byteCount: size * count))
  return size * count
}

private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
  guard let context = unsafe context else { return nil }
  return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
}
