// Attempts to escape, selected by name. Exit status 0: the attempt succeeded. 1: it failed, and the error is printed.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/memfd.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static int outcome(const char *what, long result) {
    if (result >= 0) return 0;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    return 1;
}

static int show(int file) {
    char text[4096];
    ssize_t read_bytes = read(file, text, sizeof text);
    if (read_bytes < 0) return outcome("read", -1);
    fwrite(text, 1, read_bytes, stdout);
    return read_bytes == 0;
}

static int read_path(const char *path) {
    int file = open(path, O_RDONLY);
    return file < 0 ? outcome("open", -1) : show(file);
}

static int write_path(const char *path, int flags) {
    int file = open(path, flags, 0644);
    return file < 0 ? outcome("open", -1) : outcome("write", write(file, "changed", 7));
}

static int to_unix(int type, const char *name, int abstract) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path + abstract, name, sizeof address.sun_path - 2);
    socklen_t length = offsetof(struct sockaddr_un, sun_path) + abstract + strlen(name);
    int socket_ = socket(AF_UNIX, type, 0);
    if (socket_ < 0) return outcome("socket", -1);
    return outcome("connect", connect(socket_, (struct sockaddr *)&address, length));
}

static int pair_to_unix(const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, name, sizeof address.sun_path - 1);
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) < 0) return outcome("socketpair", -1);
    return outcome("sendto", sendto(pair[0], "hello", 5, 0, (struct sockaddr *)&address, sizeof address));
}

static int to_port(int port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int socket_ = socket(AF_INET, SOCK_STREAM, 0);
    if (socket_ < 0) return outcome("socket", -1);
    return outcome("connect", connect(socket_, (struct sockaddr *)&address, sizeof address));
}

static int read_memory(int process, const char *address) {
    char text[16];
    struct iovec local = {text, sizeof text}, remote = {(void *)strtoull(address, NULL, 0), sizeof text};
    return outcome("process_vm_readv", process_vm_readv(process, &local, 1, &remote, 1, 0));
}

static int set_flags(const char *path) {
    int file = open(path, O_RDONLY), flags = 0;
    if (file < 0) return outcome("open", -1);
    if (ioctl(file, FS_IOC_GETFLAGS, &flags) < 0) return outcome("get", -1);
    flags |= FS_NODUMP_FL;
    return outcome("set", ioctl(file, FS_IOC_SETFLAGS, &flags));
}

/* A directory and a link to one outside change places while the name is used. */
static const char *raced[2];
static void *swap(void *unused) {
    for (;;) syscall(SYS_renameat2, AT_FDCWD, raced[0], AT_FDCWD, raced[1], RENAME_EXCHANGE);
    return unused;
}
static int race(const char *directory, const char *other, const char *path) {
    raced[0] = directory, raced[1] = other;
    pthread_t thread;
    pthread_create(&thread, NULL, swap, NULL);
    int got = 0;
    time_t end = time(NULL) + 3;
    /* On a busy machine the other thread may come late. */
    for (int i = 0; !got && (i < 3000 || time(NULL) < end); i++) {
        char text[64] = "";
        int file = open(path, O_RDWR);
        if (file < 0) continue;
        ssize_t length = read(file, text, sizeof text - 1);
        if (length > 0 && strstr(text, "secret")) got = 1;
        if (got) pwrite(file, "X", 1, 0);
        close(file);
    }
    if (!got) fprintf(stderr, "never outside\n");
    return !got;
}

/* The path in memory changes while the call is looked at. */
static char shared_path[256];
static const char *paths[2];
static void *rewrite(void *unused) {
    for (;;) { strcpy(shared_path, paths[0]); strcpy(shared_path, paths[1]); }
    return unused;
}
static int rewritten(const char *inside, const char *outside) {
    paths[0] = inside, paths[1] = outside;
    pthread_t thread;
    pthread_create(&thread, NULL, rewrite, NULL);
    for (time_t end = time(NULL) + 3; time(NULL) < end;) {
        char text[64] = "";
        int file = open(shared_path, O_RDONLY);
        if (file < 0) continue;
        if (read(file, text, sizeof text - 1) > 0 && strstr(text, "secret")) return 0;
        close(file);
    }
    fprintf(stderr, "never outside\n");
    return 1;
}

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }

static int socketpair_end(void) {
    int pair[2];
    return socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ? -1 : pair[0];
}

// Renames a file to one long name after the other, and opens it by each.
static int rename_and_open(const char *directory, int times) {
    char now[4096], next[4096];
    snprintf(now, sizeof now, "%s/first", directory);
    close(open(now, O_CREAT | O_WRONLY, 0644));
    for (int i = 0; i < times; i++) {
        snprintf(next, sizeof next, "%s/%0200d", directory, i);
        if (rename(now, next) < 0) return outcome("rename", -1);
        int file = open(next, O_RDONLY);
        if (file < 0) return outcome("open", -1);
        close(file);
        strcpy(now, next);
    }
    return 0;
}

static void *rename_forth_and_back(void *directory) {
    char other[4096];
    snprintf(other, sizeof other, "%s-other", (char *)directory);
    for (;;) {
        rename(directory, other);
        rename(other, directory);
    }
}

// Renames directories without end, one per thread: `0`, `1` and so on, below the given directory.
static int rename_for_ever(const char *above, int threads) {
    pthread_t thread;
    for (int i = 0; i < threads; i++) {
        char *directory = malloc(4096);
        snprintf(directory, 4096, "%s/%d", above, i);
        pthread_create(&thread, NULL, rename_forth_and_back, directory);
    }
    puts("begun");
    fflush(stdout);
    pause();
    return 0;
}

// Requests many process groups: of unused process ids, and of many processes one after the other.
static int make_groups(int times) {
    int made = 0;
    for (int i = 1; i < times; i++) made += setpgid(0, 100000 + i) == 0;
    for (int i = 0; i < times / 100; i++) {
        int child = fork();
        if (child == 0) _exit(setpgid(0, 0) < 0);
        int status;
        waitpid(child, &status, 0);
        if (status != 0) return outcome("setpgid", -1);
    }
    return made != 0;
}

// Tries to outlive the supervisor: in a new session, without a parent-death signal.
static int outlive(const char *mark) {
    prctl(PR_SET_PDEATHSIG, 0);
    prctl(PR_SET_PDEATHSIG, SIGCONT);
    for (int i = 0; i < 3; i++) {
        if (fork() == 0) {
            setsid();
            if (fork() == 0) {
                prctl(PR_SET_PDEATHSIG, 0);
                execlp("sleep", "sleep", mark, NULL);
            }
            _exit(0);
        }
    }
    puts("begun");
    fflush(stdout);
    for (;;) sleep(1000);
}

// Holds an O_PATH descriptor until another process has replaced the file, and then opens the file through it.
static int open_unlinked(const char *path, const char *signal) {
    int held = open(path, O_PATH);
    if (held < 0) return outcome("open", -1);
    puts("begun");
    fflush(stdout);
    struct stat is;
    while (stat(signal, &is) < 0) usleep(1000);
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", held);
    int file = open(link, O_RDWR);
    if (file < 0) file = open(link, O_RDONLY);
    return file < 0 ? outcome("open", -1) : show(file);
}

// Holds an O_PATH descriptor until the file is removed, renames its former directory, and opens the file through it.
static int open_removed(const char *path, const char *directory, const char *other, const char *signal) {
    int held = open(path, O_PATH);
    if (held < 0) return outcome("open", -1);
    puts("begun");
    fflush(stdout);
    struct stat is;
    while (stat(signal, &is) < 0) usleep(1000);
    rename(directory, other);
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", held);
    int file = open(link, O_RDONLY);
    if (file < 0) file = open(link, O_RDWR);
    return file < 0 ? outcome("open", -1) : show(file);
}

// Runs a copy of a program from a memory file.
static int run_memory(const char *path, int with_mode) {
    int memory = syscall(SYS_memfd_create, "program", 0), program = open(path, O_RDONLY);
    if (memory < 0 || program < 0) return outcome("open", -1);
    char block[65536];
    for (ssize_t length; (length = read(program, block, sizeof block)) > 0;)
        if (write(memory, block, length) != length) return outcome("write", -1);
    puts("written");
    fflush(stdout);
    if (with_mode) fchmod(memory, 0777);
    char link[64], *arguments[] = {"program", NULL}, *none[] = {NULL};
    snprintf(link, sizeof link, "/proc/self/fd/%d", memory);
    execve(link, arguments, none);
    syscall(SYS_execveat, memory, "", arguments, none, AT_EMPTY_PATH);
    return outcome("execve", -1);
}

struct swap { volatile char *path; const char *one, *other; volatile int over; };

static void *swap_paths(void *argument) {
    struct swap *swap = argument;
    while (!swap->over) {
        strcpy((char *)swap->path, swap->one);
        for (int i = 0; i < 2000; i++) __asm__ volatile("" ::: "memory");
        strcpy((char *)swap->path, swap->other);
        for (int i = 0; i < 2000; i++) __asm__ volatile("" ::: "memory");
    }
    return NULL;
}

// Runs a program by a path at which another thread swaps two programs.
static int run_swapped(const char *one, const char *other, char *what) {
    char *path = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (path == MAP_FAILED) return outcome("mmap", -1);
    struct swap swap = {path, one, other, 0};
    strcpy(path, one);
    puts("begun");
    fflush(stdout);
    pthread_t thread;
    pthread_create(&thread, NULL, swap_paths, &swap);
    for (int i = 0; i < 300; i++) {
        pid_t child = fork();
        if (child == 0) {
            char *arguments[] = {"program", what, NULL};
            if (strncmp(what, "LD_PRELOAD=", 11) == 0) putenv(what);
            execve(path, arguments, environ);
            _exit(1);
        }
        waitpid(child, NULL, 0);
    }
    swap.over = 1;
    pthread_join(thread, NULL);
    return 0;
}

int main(int count, char **argument) {
    const char *name = count > 1 ? argument[1] : "", *a = count > 2 ? argument[2] : "", *b = count > 3 ? argument[3] : "";
    const char *c = count > 4 ? argument[4] : "";
    if (is(name, "read")) return read_path(a);
    if (is(name, "read-fd")) return show(atoi(a));
    if (is(name, "write")) return write_path(a, O_WRONLY);
    if (is(name, "create")) return write_path(a, O_WRONLY | O_CREAT | O_EXCL);
    if (is(name, "make")) return write_path(a, O_WRONLY | O_CREAT);
    if (is(name, "append")) return write_path(a, O_WRONLY | O_APPEND);
    if (is(name, "empty")) return outcome("open", open(a, O_RDONLY | O_TRUNC));
    if (is(name, "nameless")) return outcome("open", open(a, O_TMPFILE | O_WRONLY, 0600));
    if (is(name, "list")) return outcome("open", open(a, O_RDONLY | O_DIRECTORY));
    if (is(name, "truncate")) return outcome(name, truncate(a, 1));
    if (is(name, "unlink")) return outcome(name, unlink(a));
    if (is(name, "rmdir")) return outcome(name, rmdir(a));
    if (is(name, "mkdir")) return outcome(name, mkdir(a, 0755));
    if (is(name, "rename")) return outcome(name, rename(a, b));
    if (is(name, "exchange")) return outcome(name, syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE));
    if (is(name, "link")) return outcome(name, link(a, b));
    if (is(name, "symlink")) return outcome(name, symlink(a, b));
    if (is(name, "device")) return outcome(name, mknod(a, S_IFCHR | 0666, (1 << 8) | 3));
    if (is(name, "chmod")) return outcome(name, chmod(a, 0777));
    if (is(name, "chmod-opened")) return outcome(name, fchmod(open(a, O_RDONLY), 0777));
    if (is(name, "chmod-path")) return outcome(name, syscall(452, open(a, O_PATH), "", 0777, AT_EMPTY_PATH));
    if (is(name, "chmod-set-user")) return outcome(name, chmod(a, 04755));
    if (is(name, "chown")) return outcome(name, chown(a, 12, 34));
    if (is(name, "chown-path")) return outcome(name, fchownat(open(a, O_PATH), "", 12, 34, AT_EMPTY_PATH));
    if (is(name, "utimes")) return outcome(name, utimes(a, NULL));
    if (is(name, "utimes-opened")) return outcome(name, futimens(open(a, O_RDONLY), NULL));
    if (is(name, "setxattr")) return outcome(name, setxattr(a, "user.attack", "1", 1, 0));
    if (is(name, "fsetxattr")) return outcome(name, fsetxattr(open(a, O_RDONLY), "user.attack", "1", 1, 0));
    if (is(name, "flags")) return set_flags(a);
    if (is(name, "openat2")) {
        unsigned long how[3] = {O_RDONLY, 0, 0};
        int file = syscall(SYS_openat2, AT_FDCWD, a, how, sizeof how);
        return file < 0 ? outcome(name, -1) : show(file);
    }
    if (is(name, "handle")) {
        char handle[sizeof(struct file_handle) + MAX_HANDLE_SZ];
        struct file_handle *it = (struct file_handle *)handle;
        it->handle_bytes = MAX_HANDLE_SZ;
        int mount_id;
        return outcome(name, name_to_handle_at(AT_FDCWD, a, it, &mount_id, 0));
    }
    if (is(name, "io_uring")) { char setup[256] = {0}; return outcome(name, syscall(SYS_io_uring_setup, 4, setup)); }
    if (is(name, "race")) return race(a, b, c);
    if (is(name, "rewritten")) return rewritten(a, b);
    if (is(name, "from-directory")) {
        int directory = open(a, O_PATH | O_DIRECTORY);
        int file = directory < 0 ? -1 : openat(directory, b, O_RDONLY);
        return file < 0 ? outcome(name, -1) : show(file);
    }
    if (is(name, "from-cwd")) {
        if (chdir(a) < 0) return outcome("chdir", -1);
        return read_path(b);
    }
    if (is(name, "reopen")) {
        char path[64];
        int file = open(a, O_RDONLY);
        if (file < 0) return outcome("open", -1);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        return write_path(path, O_WRONLY);
    }
    if (is(name, "ptrace")) return outcome(name, ptrace(PTRACE_ATTACH, atoi(a), 0, 0));
    if (is(name, "memory")) return read_memory(atoi(a), b);
    if (is(name, "kill")) return outcome(name, kill(atoi(a), SIGCONT));
    if (is(name, "kill-all")) return outcome(name, kill(-1, 0));
    if (is(name, "queue")) {
        siginfo_t info = {.si_code = SI_QUEUE};
        return outcome(name, syscall(SYS_rt_sigqueueinfo, atoi(a), SIGCONT, &info));
    }
    if (is(name, "tgkill")) return outcome(name, syscall(SYS_tgkill, atoi(a), atoi(a), SIGCONT));
    if (is(name, "pidfd")) return outcome(name, syscall(SYS_pidfd_open, atoi(a), 0));
    if (is(name, "owner")) {
        int file = open("/dev/null", O_RDONLY);
        return outcome(name, fcntl(file, F_SETOWN, atoi(a)));
    }
    if (is(name, "prlimit")) {
        struct rlimit limit;
        return outcome(name, syscall(SYS_prlimit64, atoi(a), RLIMIT_NOFILE, NULL, &limit));
    }
    if (is(name, "priority")) return outcome(name, setpriority(PRIO_PROCESS, atoi(a), 1));
    if (is(name, "affinity")) {
        cpu_set_t set;
        sched_getaffinity(0, sizeof set, &set);
        return outcome(name, sched_setaffinity(atoi(a), sizeof set, &set));
    }
    if (is(name, "mount")) return outcome(name, mount("none", a, "tmpfs", 0, NULL));
    if (is(name, "fsopen")) return outcome(name, syscall(430, "tmpfs", 0));
    if (is(name, "unshare")) return outcome(name, unshare(CLONE_NEWUSER));
    if (is(name, "clone-user")) return outcome(name, syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0));
    if (is(name, "chroot")) return outcome(name, chroot(a));
    if (is(name, "keyring")) return outcome(name, syscall(SYS_keyctl, 0, -3, 1));
    if (is(name, "shared-memory")) {
        int memory = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
        if (memory >= 0) shmctl(memory, IPC_RMID, NULL);
        return outcome(name, memory);
    }
    if (is(name, "unix")) return to_unix(SOCK_STREAM, a, 0);
    if (is(name, "abstract")) return to_unix(SOCK_STREAM, a, 1);
    if (is(name, "datagram")) return pair_to_unix(a);
    if (is(name, "tcp")) return to_port(atoi(a));
    if (is(name, "type-ahead")) return outcome(name, ioctl(0, TIOCSTI, "x"));
    if (is(name, "powers")) return outcome(name, prctl(PR_CAPBSET_READ, 21) == 1 ? 0 : (errno = EPERM, -1));
    if (is(name, "set-user")) return outcome(name, geteuid() == 0 && getuid() != 0 ? 0 : (errno = EPERM, -1));
    if (is(name, "remove")) return outcome(name, unlinkat(AT_FDCWD, a, atoi(b) ? AT_REMOVEDIR : 0));
    if (is(name, "rename-and-open")) return rename_and_open(a, atoi(b));
    if (is(name, "rename-for-ever")) return rename_for_ever(a, atoi(b));
    if (is(name, "groups")) return make_groups(atoi(a));
    if (is(name, "outlive")) return outlive(a);
    if (is(name, "unlinked")) return open_unlinked(a, b);
    if (is(name, "removed-moved")) return open_removed(a, b, c, argument[5]);
    if (is(name, "memory-program")) return run_memory(a, 0);
    if (is(name, "memory-program-mode")) return run_memory(a, 1);
    if (is(name, "run-swapped")) return run_swapped(a, b, (char *)c);
    if (is(name, "ioctl")) return outcome(name, ioctl(socketpair_end(), strtoul(a, NULL, 0), (char[4096]){0}));
    if (is(name, "socket")) return outcome(name, socket(atoi(a), atoi(b), atoi(c)));
    if (is(name, "core")) {
        struct rlimit limit = {0, 0}, now;
        setrlimit(RLIMIT_CORE, &limit);
        prlimit(0, RLIMIT_CORE, &limit, NULL);
        prlimit(getpid(), RLIMIT_CORE, &limit, NULL);
        // The lower half of this pointer is zero.
        void *page = mmap((void *)0x100000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        if (page == MAP_FAILED) return outcome(name, -1);
        syscall(SYS_prlimit64, 0, RLIMIT_CORE, page, NULL);
        syscall(SYS_prlimit64, getpid(), RLIMIT_CORE, page, NULL);
        if (getrlimit(RLIMIT_CORE, &now) < 0) return outcome(name, -1);
        return now.rlim_cur == 0 ? 0 : (printf("%lu", (unsigned long)now.rlim_cur), 1);
    }
#ifdef __x86_64__
    if (is(name, "int80")) {
        // Number 20 is getpid on i386 and writev on x86-64.
        long result;
        char *low = (char *)0x10000000;
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20), "b"(low) : "memory");
        return outcome(name, result);
    }
    if (is(name, "x32")) return outcome(name, syscall(0x40000000 + SYS_openat, AT_FDCWD, a, O_RDONLY));
#endif
    fprintf(stderr, "no such attack: %s\n", name);
    return 2;
}
