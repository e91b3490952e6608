// libav's headers, and the macros and variadic functions of them that Swift cannot import.
#pragma once
#include <dlfcn.h>
#include <malloc.h>
#include <libavcodec/avcodec.h>
#include <libavcodec/bsf.h>
#include <libavdevice/avdevice.h>
#include <libavfilter/avfilter.h>
#include <libavfilter/buffersink.h>
#include <libavfilter/buffersrc.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>
#include <libavutil/channel_layout.h>
#include <libavutil/display.h>
#include <libavutil/error.h>
#include <libavutil/hwcontext.h>
#include <libavutil/imgutils.h>
#include <libavutil/intreadwrite.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libavutil/samplefmt.h>
#include <libavutil/time.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>
#include <sys/prctl.h>

static const int64_t segrec_AV_NOPTS_VALUE = AV_NOPTS_VALUE;
static const int segrec_AVERROR_EOF = AVERROR_EOF;
static const int segrec_AVERROR_EXIT = AVERROR_EXIT;
static const int segrec_AVERROR_EXTERNAL = AVERROR_EXTERNAL;
static const int segrec_AVERROR_UNKNOWN = AVERROR_UNKNOWN;
static const int segrec_AVERROR_INVALIDDATA = AVERROR_INVALIDDATA;
static const int segrec_AVERROR_EAGAIN = AVERROR(EAGAIN);
static const int segrec_AVERROR_BSF_NOT_FOUND = AVERROR_BSF_NOT_FOUND;
static const int segrec_AVERROR_DECODER_NOT_FOUND = AVERROR_DECODER_NOT_FOUND;
static const int segrec_AVERROR_DEMUXER_NOT_FOUND = AVERROR_DEMUXER_NOT_FOUND;
static const int segrec_AVERROR_ENCODER_NOT_FOUND = AVERROR_ENCODER_NOT_FOUND;
static const int segrec_AVERROR_FILTER_NOT_FOUND = AVERROR_FILTER_NOT_FOUND;
static const int segrec_AVERROR_MUXER_NOT_FOUND = AVERROR_MUXER_NOT_FOUND;
static const int segrec_AVERROR_OPTION_NOT_FOUND = AVERROR_OPTION_NOT_FOUND;
static const int segrec_AVERROR_PATCHWELCOME = AVERROR_PATCHWELCOME;
static const int segrec_AVERROR_PROTOCOL_NOT_FOUND = AVERROR_PROTOCOL_NOT_FOUND;
static const int segrec_AVERROR_STREAM_NOT_FOUND = AVERROR_STREAM_NOT_FOUND;
static const int segrec_AVERROR_HTTP_BAD_REQUEST = AVERROR_HTTP_BAD_REQUEST;
static const int segrec_AVERROR_HTTP_UNAUTHORIZED = AVERROR_HTTP_UNAUTHORIZED;
static const int segrec_AVERROR_HTTP_FORBIDDEN = AVERROR_HTTP_FORBIDDEN;
static const int segrec_AVERROR_HTTP_NOT_FOUND = AVERROR_HTTP_NOT_FOUND;
static const int segrec_AVERROR_HTTP_OTHER_4XX = AVERROR_HTTP_OTHER_4XX;
static const int segrec_AVERROR_HTTP_SERVER_ERROR = AVERROR_HTTP_SERVER_ERROR;

// x264 asks for huge pages (madvise), which round each of its planes and each thread's stack up to 2 MB.
static inline void segrec_refuse_huge_pages(void) { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }

static void segrec_hear_nothing(const char *file, int line, const char *function, int error, const char *format, ...) {}

// ALSA writes its errors to standard error by itself, where lines are segrec's. It is libavdevice that is linked with it.
static inline void segrec_silence_alsa(void) {
  void (*set)(void *) = (void (*)(void *))dlsym(0, "snd_lib_error_set_handler");
  if (set) set((void *)segrec_hear_nothing);
}
