// libav's headers, and the macros and variadic functions of them that Swift cannot import.
#pragma once
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
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libavutil/samplefmt.h>
#include <libswresample/swresample.h>
#include <libswscale/swscale.h>

static const int64_t segrec_AV_NOPTS_VALUE = AV_NOPTS_VALUE;
static const int segrec_AVERROR_EOF = AVERROR_EOF;
static const int segrec_AVERROR_EXIT = AVERROR_EXIT;
static const int segrec_AVERROR_INVALIDDATA = AVERROR_INVALIDDATA;
static const int segrec_AVERROR_EAGAIN = AVERROR(EAGAIN);
