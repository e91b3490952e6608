#define _GNU_SOURCE
// Uploads small segments of many recordings to a server at a set rate over kept-alive connections, and tells how long
// the answers took and how long after each answer the recording's playlist was replaced. One thread; Linux only.
// Started by bench-serve: put-load PORT CONNECTIONS RECORDINGS RATE SECONDS ROOT INIT SEGMENT DIGEST
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { most_recordings = 20000, most_watches = 2000, most_samples = 2000000 };

struct connection {
  int socket, recording, busy;
  // Recordings whose turn came while it was busy.
  int *queue, head, count;
  char *out;
  size_t length, sent;
  char in[2048];
  size_t got;
  double began;
};

static double answered[most_recordings];
// Whether a recording's upload is under way, and whether its list came before the answer.
static char flying[most_recordings], is_early[most_recordings];
static int next_number[most_recordings], watch_of[most_recordings * 2 + 16];
static float *answers, *lists;
static size_t answer_count, list_count;
static long failures;
static const char *digest;
static char *init_bytes, *segment_bytes;
static size_t init_length, segment_length;
static const long long start_ms = 1796000000000LL;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec / 1e9;
}

static void die(const char *what) {
  perror(what);
  exit(1);
}

static char *load(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  struct stat status;
  if (!file || fstat(fileno(file), &status)) die(path);
  char *bytes = malloc(status.st_size + 1);
  *length = fread(bytes, 1, status.st_size, file);
  fclose(file);
  return bytes;
}

static void stamp(long long ms, char *text) {
  time_t seconds = ms / 1000;
  struct tm t;
  gmtime_r(&seconds, &t);
  size_t length = strftime(text, 32, "%Y%m%dT%H%M%S", &t);
  sprintf(text + length, ".%03dZ", (int)(ms % 1000));
}

// Sends what comes next of a recording: its init section, then one segment after another.
static void begin(struct connection *c, int recording) {
  char run[32], at[32], name[96];
  int number = next_number[recording]++;
  stamp(start_ms, run);
  if (number == 0) {
    strcpy(name, "init.mp4");
  } else {
    stamp(start_ms + (number - 1) * 5000LL, at);
    sprintf(name, "%08d_%s_450000.m4s", number - 1, at);
  }
  const char *body = number == 0 ? init_bytes : segment_bytes;
  size_t length = number == 0 ? init_length : segment_length;
  c->length = sprintf(c->out,
                      "PUT /r%05d/main/%s_0001/%s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: video/mp4\r\n"
                      "Content-Length: %zu\r\n",
                      recording, run, name, length);
  if (number > 0) c->length += sprintf(c->out + c->length, "Content-Digest: sha-256=:%s:\r\n", digest);
  c->length += sprintf(c->out + c->length, "\r\n");
  memcpy(c->out + c->length, body, length);
  c->length += length;
  c->sent = c->got = 0;
  c->busy = flying[recording] = 1;
  answered[recording] = is_early[recording] = 0;
  c->recording = recording;
  c->began = now();
}

static void push(struct connection *c) {
  while (c->sent < c->length) {
    ssize_t count = send(c->socket, c->out + c->sent, c->length - c->sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) die("send");
    c->sent += count;
  }
}

static void take(struct connection *c, int recordings_started) {
  ssize_t count = recv(c->socket, c->in + c->got, sizeof c->in - 1 - c->got, 0);
  if (count < 0 && errno == EAGAIN) return;
  if (count <= 0) {
    fprintf(stderr, "connection %d ended (%s), %s, after \"%.200s\"\n", c->socket, count ? strerror(errno) : "closed",
            c->busy ? "waiting for an answer" : "idle", c->in);
    exit(1);
  }
  c->got += count;
  c->in[c->got] = 0;
  char *end = strstr(c->in, "\r\n\r\n"), *field = strcasestr(c->in, "content-length:");
  if (!c->busy || !end || c->got < (size_t)(end + 4 - c->in) + (field ? strtoul(field + 15, NULL, 10) : 0)) return;
  double time = now();
  if (strncmp(c->in, "HTTP/1.1 201", 12)) failures++;
  if (recordings_started && answer_count < most_samples) answers[answer_count++] = time - c->began;
  if (!is_early[c->recording]) answered[c->recording] = time;
  flying[c->recording] = 0;
  c->busy = 0;
  if (c->count > 0) {
    int recording = c->queue[c->head];
    c->head = (c->head + 1) % most_recordings;
    c->count--;
    begin(c, recording);
    push(c);
  }
}

static int by_size(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static double share(float *samples, size_t count, double part) {
  if (count == 0) return -1;
  qsort(samples, count, sizeof *samples, by_size);
  return samples[(size_t)((count - 1) * part)] * 1e3;
}

int main(int argc, char **argv) {
  if (argc != 10) return 64;
  int port = atoi(argv[1]), connections = atoi(argv[2]), recordings = atoi(argv[3]);
  double rate = atof(argv[4]), seconds = atof(argv[5]);
  init_bytes = load(argv[7], &init_length);
  segment_bytes = load(argv[8], &segment_length);
  digest = argv[9];
  if (recordings > most_recordings || connections > recordings || recordings < 1) return 64;
  answers = malloc(most_samples * sizeof *answers);
  lists = malloc(most_samples * sizeof *lists);
  int poll = epoll_create1(0), watcher = inotify_init1(IN_NONBLOCK);
  struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
  epoll_ctl(poll, EPOLL_CTL_ADD, watcher, &event);
  struct connection *all = calloc(connections, sizeof *all);
  for (int i = 0; i < connections; i++) {
    struct connection *c = &all[i];
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (c->socket < 0 || connect(c->socket, (struct sockaddr *)&address, sizeof address)) die("connect");
    int on = 1;
    setsockopt(c->socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    fcntl(c->socket, F_SETFL, O_NONBLOCK);
    c->out = malloc(1024 + (init_length > segment_length ? init_length : segment_length));
    c->queue = malloc(most_recordings * sizeof *c->queue);
    event = (struct epoll_event){.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.ptr = c};
    epoll_ctl(poll, EPOLL_CTL_ADD, c->socket, &event);
  }
  // First each recording's init section and first segment, as fast as it goes; then the rate.
  double zero = now(), late = 0;
  long turns = 0, first = 2L * recordings, total = first + (long)(rate * seconds);
  int measured = 0, idle = 0;
  while (turns < total || !idle) {
    double time = now();
    if (!measured && turns == first && idle) {
      int step = (recordings + most_watches - 1) / most_watches;
      for (int r = 0; r < recordings; r += step) {
        char path[4096];
        snprintf(path, sizeof path, "%s/r%05d/main", argv[6], r);
        int watch = inotify_add_watch(watcher, path, IN_MOVED_TO);
        if (watch > 0 && watch < (int)(sizeof watch_of / sizeof *watch_of)) watch_of[watch] = r + 1;
        answered[r] = 0;
      }
      measured = 1;
      printf("{\"first\": %.3f}\n", time - zero);
      fflush(stdout);
      zero = time;
    }
    while (turns < total && (turns < first || measured)) {
      if (turns >= first) {
        double due = zero + (turns - first) / rate;
        if (due > time) break;
        if (time - due > late) late = time - due;
      }
      int recording = turns % recordings;
      struct connection *c = &all[recording % connections];
      turns++;
      if (c->busy) {
        c->queue[(c->head + c->count++) % most_recordings] = recording;
      } else {
        begin(c, recording);
        push(c);
      }
    }
    struct epoll_event events[256];
    int count = epoll_wait(poll, events, 256, 1);
    for (int i = 0; i < count; i++) {
      struct connection *c = events[i].data.ptr;
      if (!c) {
        char bytes[65536];
        ssize_t size = read(watcher, bytes, sizeof bytes);
        double seen = now();
        for (char *at = bytes; size > 0 && at < bytes + size;) {
          struct inotify_event *e = (struct inotify_event *)at;
          at += sizeof *e + e->len;
          int r = e->wd < (int)(sizeof watch_of / sizeof *watch_of) ? watch_of[e->wd] - 1 : -1;
          if (r < 0 || !e->len || strcmp(e->name, "live.m3u8") || list_count >= most_samples) continue;
          if (answered[r] > 0) {
            lists[list_count++] = seen - answered[r];
          } else if (flying[r] && !is_early[r]) {
            lists[list_count++] = 0;
            is_early[r] = 1;
          }
          answered[r] = 0;
        }
        continue;
      }
      if (events[i].events & EPOLLIN) take(c, measured);
      if (c->busy) push(c);
    }
    idle = 1;
    for (int i = 0; i < connections && idle; i++) idle = !all[i].busy;
  }
  double took = now() - zero;
  printf("{\"sent\": %ld, \"seconds\": %.3f, \"late\": %.3f, \"failures\": %ld, \"answers\": %zu, \"answer50\": %.3f, "
         "\"answer99\": %.3f, \"lists\": %zu, \"list50\": %.3f, \"list99\": %.3f, \"listMost\": %.3f}\n",
         total - first, took, late, failures, answer_count, share(answers, answer_count, 0.5),
         share(answers, answer_count, 0.99), list_count, share(lists, list_count, 0.5), share(lists, list_count, 0.99),
         share(lists, list_count, 1));
  return 0;
}
