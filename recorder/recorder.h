/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   What the parts of the recorder tell each other. The way of the bytes:

      instrument.c  marks the accesses of translated code
      accesses.c    sees one at run time and records it, if it meets persistent memory
      mappings.c    knows which memory is persistent, and of which file (files.c) it is
      near.c        knows which other memory has been accessed lately
      outside.c     which code is not the program's own
      callers.c     who called the code that stores, flushes or fences
      syscalls.c    what the kernel did to mappings and files
      written.c     what that changes in files, and what of it is durable; openings.c: as the program opens them
      requests.c    what the program says of itself; printed.c: by what it prints
      threads.c     which thread does it; sharing.c: what of another thread it must follow
      unrecorded.c  what the stream lacks
      stream.c      writes records; docs/trace-format.md of Counterpoint describes them */

#ifndef COUNTERPOINT_RECORDER_H
#define COUNTERPOINT_RECORDER_H

#include "pub_tool_basics.h"
#include "pub_tool_libcassert.h"
#include "pub_tool_libcbase.h"
#include "pub_tool_libcfile.h"
#include "pub_tool_libcprint.h"
#include "pub_tool_libcproc.h"
#include "pub_tool_mallocfree.h"
#include "pub_tool_machine.h"
#include "pub_tool_threadstate.h"
#include "pub_tool_tooliface.h"
#include "pub_tool_vki.h"

/* Not in the headers for tools, but in the core that every tool is linked with. */
extern Int VG_(safe_fd)(Int oldfd);
extern Int VG_(fcntl)(Int fd, Int cmd, Addr arg);
extern Int VG_(fd_hard_limit);
extern Int VG_(fd_soft_limit);
extern Int VG_(sigemptyset)(vki_sigset_t* set);
extern Int VG_(sigaddset)(vki_sigset_t* set, Int signal);
extern Int VG_(sigtimedwait_zero)(const vki_sigset_t* set, vki_siginfo_t* info);
extern Bool VG_(clo_sigill_diag);
extern void VG_(discard_translations)(Addr start, ULong length, const HChar* who);

enum { LINE = 64, PAGE = 4096, CHUNK = 65536, PATH_LIMIT = 4096 };

typedef enum {
   TAG_SYNC = 0x01, TAG_FILE, TAG_MAP, TAG_UNMAP, TAG_CODE, TAG_IMAGE, TAG_THREAD, TAG_CALLERS, TAG_CALLERS_AGAIN,
   TAG_LOAD = 0x10, TAG_STORE, TAG_NT_STORE, TAG_ATOMIC, TAG_CLWB, TAG_CLFLUSHOPT, TAG_CLFLUSH,
   TAG_SFENCE, TAG_MFENCE, TAG_KERNEL_STORE, TAG_COUNTER_WRITEBACK, TAG_COUNTER_ATOMIC, TAG_LOCKED,
   TAG_CALLED_STORE, TAG_KERNEL_FLUSH,
   TAG_TX_BEGIN = 0x20, TAG_TX_END, TAG_MARK, TAG_SCRATCH, TAG_LACKS, TAG_FOLLOWS,
   TAG_OTHER_LOAD, TAG_OTHER_STORE, TAG_NEAR,
   TAG_END = 0x7f
} Tag;

/* What has been executed so far; loads and stores only of memory that is not persistent, in lines that are near (near.c). */
typedef struct { ULong instructions, loads, stores; } Done;

/* ---- intervals.c: sets of file offsets, as sorted intervals [start, end) that do not touch ---- */

typedef struct { ULong start, end; } Interval;
typedef struct { Interval* items; UInt count, room; } Intervals;

void intervals_add(Intervals* set, ULong start, ULong end);
void intervals_remove(Intervals* set, ULong start, ULong end);
/* The first part of [start, end) that is in the set (inside) or is not; False if there is none. */
Bool intervals_next(const Intervals* set, ULong start, ULong end, Bool inside, Interval* part);

/* ---- files.c ---- */

typedef struct File File;
struct File {
   UInt number;
   HChar* path;
   Int fd;              /* our own, for reading, so that the inode lives on; -1: there is none */
   ULong device, inode;
   ULong size;          /* when last looked at */
   Addr memory;         /* of registered memory that is no file: where its offset 0 is; otherwise 0 */
   Intervals imaged;    /* offsets whose first content the stream has */
   UChar* dirty;        /* one bit a page: stored to since it was last synced */
   ULong dirty_pages;   /* room in `dirty` */
   ULong window;        /* so much of it has addresses that no program has (written.c) */
   File* length;        /* the file that stands for its size; NULL: there is none */
   ULong cut;           /* up to here the stream has contents that were cut off and not yet replaced by zeros */
   Bool size_open;      /* its size has changed since it was last synced */
   Bool synchronous;    /* the program has asked for mappings with MAP_SYNC: sizes are durable before what is stored */
   Bool named;          /* it is recorded because it was opened: that it loses its name matters */
   Bool gone;           /* it has no name any more */
};

enum { PATTERNS_MAX = 64 };
typedef struct { const HChar* items[PATTERNS_MAX]; UInt count; } Patterns;

/* Which files are recorded that the program maps: all, if there is no pattern; and which that it opens for writing. */
extern Patterns files_mapped, files_opened;
typedef enum { KNOWN, MAPPED, OPENED, CREATED } Reason;

/* The size of a file that does not exist. */
static const ULong NO_SIZE = ~0ULL;

/* `soft`: the limit of open files that the program shall find; 0: Valgrind's. */
void files_init(Int soft);
/* The path of a descriptor, of at most PATH_LIMIT bytes; False if it has none. */
Bool path_of_descriptor(Int fd, HChar* path);
/* The file that is open there. One that is not known yet becomes so if it is to be recorded for this reason. */
File* file_of_descriptor(Int fd, Reason reason);
File* file_of_memory(Addr base, SizeT length);
void file_read(const File* file, ULong offset, UChar* bytes, SizeT length);
void file_mark_dirty(File* file, ULong offset, SizeT length);
/* Finds the next dirty page in [*offset, end), clears its bit and sets *offset to it. */
Bool file_take_dirty(File* file, ULong* offset, ULong end);
/* Writes IMAGE for what of [offset, offset + length) the stream does not have yet. */
void file_image(File* file, ULong offset, ULong length);
void files_restate(void);
/* Looks whether files have become shorter or longer, or have lost their names; then calls `resized` with the size before. */
void files_check_sizes(void (*resized)(File* file, ULong before));
Bool files_any(void);
Bool file_known(ULong device, ULong inode);
void files_renamed(void);
void files_each(void (*visit)(File* file));
void files_close(void);

/* ---- mappings.c ---- */

typedef struct {
   Addr base, end;
   File* file;
   ULong offset;
   Bool registered;     /* by a client request, not by mmap */
} Mapping;

/* Read by translated code: whether there is or has been persistent memory. */
extern ULong watch_active;

const Mapping* mapping_at(Addr a, SizeT length);
/* Whether an access that begins in the line at `a` may meet persistent memory. */
Bool mapping_near(Addr a);
Bool mappings_cover(Addr a, SizeT length);
void mapping_add(Addr base, SizeT length, File* file, ULong offset, Bool registered);
void mapping_remove(Addr base, SizeT length, Bool registered_only);
void mapping_move(Addr from, SizeT old_length, Addr to, SizeT new_length);
void code_add(Addr base, SizeT length, ULong offset, const HChar* path);
/* Whether a file with code is mapped there. */
Bool code_at(Addr a);
/* What the program stores there need not become durable: what it has stored; what it stores from here on; no more. */
void scratch_stored(Addr base, SizeT length);
void scratch_begin(Addr base, SizeT length);
void scratch_end(Addr base, SizeT length);
void mappings_restate(void);
void mappings_forget(void);
/* Calls `visit` for each part of the file's [start, end), of at most CHUNK bytes, with its address in the stream. */
void mappings_places(File* file, ULong start, ULong end, void (*visit)(File*, ULong offset, Addr a, SizeT length));

/* ---- tool.c ---- */

/* Tells Valgrind of a tool that instruments as instrument.c does. */
void tool_set_up(const HChar* name, const HChar* description, void (*start)(void), void (*finish)(Int),
                 Bool (*option)(const HChar*), void (*usage)(void));

/* ---- stream.c ---- */

void stream_open(Int fd);
Bool stream_is_open(void);
void stream_flush(void);
void stream_abandon(void);
void stream_end(UInt status);
/* `record` starts a record; what follows are its fields. */
void record(Tag tag);
void field_u(ULong value);
void field_text(const HChar* text);
void field_bytes(const UChar* bytes, SizeT length);
/* What follows is executed by this thread. */
void by_thread(UInt thread);
/* The next operation is such a one: writes THREAD and CALLERS if they are needed. */
void announce(Tag tag, UInt thread, Addr pc);
/* Records so far. */
ULong stream_records(void);
/* A thread follows what thread `other` has done in so many records, of which some may be kept back still. */
void follows(UInt thread, Done completed, UInt other, ULong count);
/* A record of an operation: with THREAD, CALLERS and NEAR before it where they are needed, and i and pc. `completed`: what was
   executed before the operation's own instruction. */
void operation(Tag tag, UInt thread, Done completed, Addr pc);
/* With an address; with an address and a length. */
void operation_at(Tag tag, UInt thread, Done completed, Addr pc, Addr a);
void operation_over(Tag tag, UInt thread, Done completed, Addr pc, Addr a, SizeT length);
/* Of other memory: with the number of a line. It may come before what of its own instruction is kept back. */
void operation_other(Tag tag, UInt thread, Done completed, Addr pc, Addr a);

/* ---- accesses.c ---- */

/* One place in translated code that may access persistent memory. */
typedef struct {
   Addr pc;
   Short before;        /* completed instructions that `executed` does not count yet at this place */
   Short loads, stores; /* and loads and stores before this one */
   UShort size;
   UChar tag;
   Bool repeats;        /* one step of a repeated string operation */
   Bool counted;        /* as a load or a store, whatever memory it is of */
} Access;

/* Up to the last exit from a translated block. */
extern Done executed;
/* Before the access. */
Done executed_before(const Access* access);

/* Records what of a repeated string operation is kept back to be put together. Comes before any other record. */
void accesses_settle(void);
/* Whether something is kept back. */
extern Bool accesses_open;

VG_REGPARM(2) void access_load(const Access* access, Addr a);
VG_REGPARM(2) void access_store(const Access* access, Addr a);
VG_REGPARM(2) void access_atomic(const Access* access, Addr a);
VG_REGPARM(2) void access_flush(const Access* access, Addr a);
VG_REGPARM(1) void access_fence(const Access* access);
/* What the kernel did for the running thread's current system call: stored to mapped memory; stored these bytes to a file;
   made lines durable, by the next fence or at once; made everything durable that waits for a fence. */
void kernel_store(Addr a, SizeT length);
void kernel_bytes(File* file, ULong offset, Addr a, const UChar* bytes, SizeT length);
void kernel_flush(Addr a, SizeT length, Bool at_once);
void kernel_fence(void);
/* What the program says of the counters of a range, which ends within memory, by a client request. */
void annotated(Tag tag, Addr a, SizeT length);

/* ---- near.c ---- */

/* Lines that the running thread has accessed lately and that nobody needs to see, each where the lowest bits of its number say:
   its address, plus 1 if it has been stored to. Read by translated code. 4 KiB are less than any first-level cache. */
enum { NEAR = 64 };
extern ULong near[NEAR];
/* How often the lines of all threads have been forgotten. */
extern UInt near_times_forgotten;
void near_add(Addr a, Bool stored);
Bool near_has(Addr a, Bool stored);
/* What nobody needs to see has changed. */
void near_forget(void);

/* ---- written.c ---- */

/* The address of a part of a file that is not mapped. */
Addr window_at(File* file, ULong offset, ULong length);
void window_state(const File* file);
/* The kernel is about to change this part of a file: the stream needs what it holds. */
void file_changes(File* file, ULong start, ULong end);
/* The kernel has changed this part of a file. */
void file_changed(File* file, ULong start, ULong end);
/* Looks what sizes and names files have now. */
void files_look(void);
/* A part of a file is durable once the kernel's next fence has come, and so is its size. */
void file_synced(File* file, ULong start, ULong end);
/* The names of the files in a folder are, too. */
void folder_synced(const HChar* path);
/* The file has this size, or none, before anything else that the stream tells of it. */
void size_begins(File* file, ULong size);

/* ---- openings.c ---- */

/* A system call that opens a file by a path is about to be made, and has given a descriptor. */
void will_open(ThreadId tid, Int folder, const HChar* path, UWord flags);
void opened(ThreadId tid, Int fd, UWord flags);
/* A path is about to be removed. */
void will_remove(Int folder, const HChar* path);
/* A path is about to be cut to a length. */
void will_cut(const HChar* path, ULong length);

/* ---- requests.c ---- */

/* The program sets a mark. */
void mark(const UChar* text, SizeT length);

/* ---- printed.c ---- */

/* Lines on standard error that begin with this are marks; NULL: none are. */
extern const HChar* printed_prefix;
/* The program has written to a descriptor. */
void printed(Int fd, const UChar* bytes, SizeT length);

/* ---- callers.c ---- */

/* The second: of the program's own stores, which are many. */
enum { CALLERS_MAX = 16, CALLERS_NEAR = 3 };

/* The calls that the code at a program counter is in, innermost first, each by the last byte of the call instruction. */
typedef struct { UInt count; Addr addresses[CALLERS_MAX]; } Callers;

/* What the stream has of callers: they are those in force; it has had them since SYNC, under this number; it has not. */
typedef enum { CALLERS_HOLD, CALLERS_KNOWN, CALLERS_NEW } CallersState;

/* The stream begins anew: what it had of callers does not hold. */
void callers_forget(void);
/* Finds the callers of the running thread's code at `pc`, at most so many, which are in force in the stream from here on. */
CallersState callers_of(Addr pc, UInt most, const Callers** now, UInt* number);
/* The program has mapped or unmapped memory. */
void callers_remapped(void);

/* ---- outside.c ---- */

/* Whether the code there is that of a library, or only copies for the program: TAG_CALLED_STORE, not TAG_STORE. */
Bool is_outside(Addr pc);

/* ---- threads.c ---- */

void threads_init(void);
void threads_run(ThreadId tid);
/* The number of the running thread in the stream. */
UInt threads_current(void);
/* Its number among all that there ever were. */
UInt threads_serial(void);
/* The number in the stream of one of those; False if the stream has nothing of it. */
Bool threads_known(UInt serial, UInt* number);
/* The stream accounts for what a thread had executed when all threads together had `completed`, and for one more instruction if
   `with_own`. `between`: how much that is without that one. Returns for how many more instructions it accounts now. */
ULong threads_account(UInt number, Done completed, Bool with_own, Done* between);

/* ---- sharing.c: threads by their serial numbers ---- */

/* A thread has been created; another thread runs now; the running thread has ended. */
void sharing_created(UInt parent, UInt child);
void sharing_runs(void);
void sharing_ended(void);
/* The kernel will set this word to 0 when the thread has ended that is created next. */
void sharing_creates(Addr end_word);
/* The running thread, or the kernel for it, is about to store to persistent memory. `completed`: what it has executed so far. */
void sharing_overwrites(Addr a, SizeT length, Done completed);
/* The kernel has written to memory for the running thread. */
void sharing_kernel_wrote(Addr a, SizeT length);

/* ---- decode.c ---- */

typedef struct {
   enum { PLAIN, NON_TEMPORAL, LOCKED, SFENCE, MFENCE, CLWB, CLFLUSHOPT, CLFLUSH } kind;
   Bool repeats;        /* rep, repe, repne before a string operation */
   UInt length;         /* known for flushes only */
   /* The memory operand of a flush: segment + base + (index << scale) + displacement. */
   Int base, index;     /* general register 0..15, or -1 */
   UInt scale;
   Int segment;         /* 4 = fs, 5 = gs, or -1 */
   Bool narrow;         /* address-size prefix: the sum is cut to 32 bits */
   Bool relative;       /* to the next instruction */
   Int displacement;
} Instruction;

void decode(const UChar* bytes, Instruction* out);

/* ---- unrecorded.c ---- */

/* The program has started a process. */
void unrecorded_fork(void);
/* The program is about to become the one whose path is at this address of its memory. */
void unrecorded_exec(Addr path);
void unrecorded_exec_failed(void);
/* The kernel reads and writes memory for the program by itself, which began with this system call. */
void unrecorded_transfers(const HChar* call);
/* The program has written to a file that is not recorded. */
void unrecorded_write(Int fd);
/* The program ends. */
void unrecorded_end(void);
/* A recorded file has another name. */
void unrecorded_rename(const HChar* path);

/* ---- instrument.c, cpuid.c, syscalls.c, requests.c ---- */

/* Who sees every access to any memory, a read before it and a write after it; NULL: nobody. */
typedef VG_REGPARM(2) void (*SeeAccess)(const Access*, Addr);
extern struct EveryAccess { SeeAccess read, written; } every_access;

IRSB* instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout, const VexGuestExtents* vge,
                 const VexArchInfo* host, IRType guest_word, IRType host_word);
/* If the call is CPUID, makes it offer CLWB and CLFLUSHOPT. */
void cpuid_offer_flushes(IRDirty* call);
void syscalls_init(void);
void requests_init(void);

#endif
