/*
 * For programs that Counterpoint records or runs, and for those that check their memory. A header only; C99 or C++.
 *
 *     cc -g -I"$(counterpoint include)" check.c
 *
 * counterpoint_recovery_server()   Called first in main: the command of `counterpoint crash --recover` becomes a server
 *                                  that is started once, and each run of it is a fork. What is done before the call is
 *                                  done once: put it before the pool is opened, and before threads are started. Without
 *                                  Counterpoint it does nothing.
 * COUNTERPOINT_MARK(text)          What the program has done or promised so far; `{marks}` of `crash --recover`.
 * COUNTERPOINT_TX_BEGIN(), COUNTERPOINT_TX_END()
 *                                  A transaction begins, has ended.
 * COUNTERPOINT_COUNTER_ATOMIC(address, bytes)
 *                                  These bytes are CounterAtomic variables from here on: whenever their line is written to
 *                                  memory, line and counter become durable together.
 * COUNTERPOINT_COUNTER_WRITEBACK(address, bytes)
 *                                  counter_cache_writeback: the counters of these bytes are written back, and the next fence
 *                                  waits for it. Call it after the flushes of the bytes.
 *
 * All but the first are for `counterpoint record`, and need <valgrind/valgrind.h>; without it, and when the program runs by
 * itself, they do nothing. A program with one of the last two is annotated: the design `sca` then relies on these
 * annotations alone (counter-atomicity, section 4.3).
 *
 * Everything here is free to be copied into any program: MIT OR Apache-2.0.
 */
#ifndef COUNTERPOINT_PROGRAM_H
#define COUNTERPOINT_PROGRAM_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef COUNTERPOINT_NO_VALGRIND
#if defined(__has_include)
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif
#endif

#ifdef VALGRIND_DO_CLIENT_REQUEST_STMT
#define COUNTERPOINT_REQUEST_(request, first, second) \
    VALGRIND_DO_CLIENT_REQUEST_STMT(request, first, second, 0, 0, 0)
#else
#define COUNTERPOINT_REQUEST_(request, first, second) ((void)(first), (void)(second))
#endif

/* The first three are requests of pmemcheck, which PMDK makes, too. */
#define COUNTERPOINT_PMEMCHECK_(number) (0x50430000 + (number))
#define COUNTERPOINT_OWN_(number) (0x43500000 + (number))
#define COUNTERPOINT_TX_BEGIN() COUNTERPOINT_REQUEST_(COUNTERPOINT_PMEMCHECK_(18), 0, 0)
#define COUNTERPOINT_TX_END() COUNTERPOINT_REQUEST_(COUNTERPOINT_PMEMCHECK_(20), 0, 0)
#define COUNTERPOINT_MARK(text) COUNTERPOINT_REQUEST_(COUNTERPOINT_PMEMCHECK_(30), text, 0)
#define COUNTERPOINT_COUNTER_WRITEBACK(address, bytes) COUNTERPOINT_REQUEST_(COUNTERPOINT_OWN_(0), address, bytes)
#define COUNTERPOINT_COUNTER_ATOMIC(address, bytes) COUNTERPOINT_REQUEST_(COUNTERPOINT_OWN_(1), address, bytes)

#ifdef __cplusplus
extern "C" {
#endif

/* The path of a socket on which runs are asked for. */
#define COUNTERPOINT_RECOVERY_SOCKET "COUNTERPOINT_RECOVERY_SOCKET"

static inline int counterpoint_recovery_take_(int socket, int32_t *number) {
    size_t done = 0;
    while (done < sizeof *number) {
        ssize_t count = recv(socket, (char *)number + done, sizeof *number - done, 0);
        if (count == 0 || (count < 0 && errno != EINTR)) return 0;
        if (count > 0) done += (size_t)count;
    }
    return 1;
}

static inline int counterpoint_recovery_give_(int socket, int32_t number) {
    return send(socket, &number, sizeof number, MSG_NOSIGNAL) == (ssize_t)sizeof number;
}

/*
 * The numbers on the socket are of 32 bits, in the byte order of the machine. The program says its process id, and is
 * answered 1, or 0: then it is not asked for more. Each further 1 asks for a run: the program says the process id of the
 * child, which leads a process group of its own, and once that has ended its status as waitpid gives it.
 */
static inline void counterpoint_recovery_server(void) {
    const char *path = getenv(COUNTERPOINT_RECOVERY_SOCKET);
    struct sockaddr_un address;
    int32_t number;
    int server;
    if (path == NULL || strlen(path) >= sizeof address.sun_path) return;
    memset(&address, 0, sizeof address);
    address.sun_family = AF_UNIX;
    strcpy(address.sun_path, path);
    unsetenv(COUNTERPOINT_RECOVERY_SOCKET);
    server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server < 0) return;
    if (connect(server, (const struct sockaddr *)&address, sizeof address) != 0 ||
        !counterpoint_recovery_give_(server, (int32_t)getpid()) || !counterpoint_recovery_take_(server, &number) ||
        number != 1) {
        close(server);
        return;
    }
    while (counterpoint_recovery_take_(server, &number)) {
        siginfo_t ended;
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            setpgid(0, 0);
            close(server);
            return;
        }
        if (child > 0) setpgid(child, child);
        if (!counterpoint_recovery_give_(server, (int32_t)child) || child < 0) break;
        /* Its process id is taken until it is waited for, so what it has left behind can still be told by its group. */
        while (waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
        }
        kill(-child, SIGKILL);
        while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        }
        if (!counterpoint_recovery_give_(server, (int32_t)status)) break;
    }
    _exit(0);
}

#ifdef __cplusplus
}
#endif

#endif
