import Foundation
import TestKit

/// The kernel's side of a camera (V4L2 streaming I/O) for machines that have none: a library that is loaded before the
/// C library and answers for `/dev/video77`. libavdevice's side is the real one.
struct StandInCamera {
  static let path = "/dev/video77"
  static let width = 320
  static let height = 240
  static let framesPerSecond = 15.0
  /// For the program that opens it.
  let environment: [String: String?]

  init(in directory: TemporaryDirectory) throws {
    let source = directory.file("camera.c")
    let library = directory.file("camera.so")
    try Data(Self.text.utf8).write(to: URL(fileURLWithPath: source))
    try Program.tool("clang", ["-shared", "-fPIC", "-Wall", "-Werror", "-o", library, source, "-ldl"])
    environment = ["LD_PRELOAD": library]
  }

  /// Pictures of one brightness each, 15 a second, stamped with the monotonic clock as UVC cameras do.
  private static let text = #"""
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <fcntl.h>
    #include <linux/videodev2.h>
    #include <stdarg.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    #include <sys/timerfd.h>
    #include <time.h>
    #include <unistd.h>
    enum { width = 320, height = 240, buffers = 4, bytes = width * height * 2, room = (bytes + 4095) / 4096 * 4096 };
    static int camera = -1, next, sequence;
    static uint8_t *pictures;
    static int start(void) {
      struct itimerspec pace = {{0, 1000000000 / 15}, {0, 1000000000 / 15}};
      pictures = mmap(0, buffers * room, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
      camera = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
      return timerfd_settime(camera, 0, &pace, 0) ? -1 : camera;
    }
    static int opened(const char *path, int flags, int mode, const char *name) {
      int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
      return strcmp(path, "/dev/video77") ? real(path, flags, mode) : start();
    }
    int open(const char *path, int flags, ...) {
      va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest);
      return opened(path, flags, mode, "open");
    }
    int open64(const char *path, int flags, ...) {
      va_list rest; va_start(rest, flags); int mode = va_arg(rest, int); va_end(rest);
      return opened(path, flags, mode, "open64");
    }
    void *mmap64(void *at, size_t length, int access, int flags, int file, off_t offset) {
      void *(*real)(void *, size_t, int, int, int, off_t) = dlsym(RTLD_NEXT, "mmap64");
      return file >= 0 && file == camera ? pictures + offset : real(at, length, access, flags, file, offset);
    }
    static int answer(unsigned long request, void *data) {
      struct v4l2_capability *capability = data;
      struct v4l2_format *format = data;
      struct v4l2_buffer *buffer = data;
      struct v4l2_streamparm *rate = data;
      switch (request) {
      case VIDIOC_QUERYCAP:
        capability->capabilities = V4L2_CAP_VIDEO_CAPTURE | V4L2_CAP_STREAMING;
        return 0;
      case VIDIOC_G_INPUT: *(int *)data = 0; return 0;
      case VIDIOC_ENUMINPUT: return 0;
      case VIDIOC_G_FMT:
      case VIDIOC_S_FMT:
        format->fmt.pix = (struct v4l2_pix_format){.width = width, .height = height, .pixelformat = V4L2_PIX_FMT_YUYV,
          .field = V4L2_FIELD_NONE, .bytesperline = width * 2, .sizeimage = bytes};
        return 0;
      case VIDIOC_G_PARM:
      case VIDIOC_S_PARM:
        rate->parm.capture.capability = V4L2_CAP_TIMEPERFRAME;
        rate->parm.capture.timeperframe = (struct v4l2_fract){1, 15};
        return 0;
      case VIDIOC_REQBUFS: ((struct v4l2_requestbuffers *)data)->count = buffers; return 0;
      case VIDIOC_QUERYBUF:
        buffer->length = bytes;
        buffer->m.offset = buffer->index * room;
        return 0;
      case VIDIOC_QBUF:
      case VIDIOC_STREAMON:
      case VIDIOC_STREAMOFF: return 0;
      case VIDIOC_DQBUF: {
        uint64_t ticks;
        struct timespec now;
        if (read(camera, &ticks, sizeof ticks) < 0) return -1;
        clock_gettime(CLOCK_MONOTONIC, &now);
        buffer->index = next++ % buffers;
        memset(pictures + buffer->index * room, 16 + sequence * 3 % 200, bytes);
        buffer->bytesused = bytes;
        buffer->sequence = sequence++;
        buffer->timestamp = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
        return 0;
      }
      }
      errno = ENOTTY;
      return -1;
    }
    int ioctl(int file, unsigned long request, ...) {
      int (*real)(int, unsigned long, ...) = dlsym(RTLD_NEXT, "ioctl");
      va_list rest; va_start(rest, request); void *data = va_arg(rest, void *); va_end(rest);
      return file >= 0 && file == camera ? answer((unsigned)request, data) : real(file, request, data);
    }
    """#
}
