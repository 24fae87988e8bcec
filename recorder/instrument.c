/* Part of the Counterpoint recorder, a Valgrind tool.
   Copyright (C) 2026 The Counterpoint developers.
   SPDX-License-Identifier: GPL-2.0-or-later

   Adds to each translated block: counting of its instructions, loads and stores, and calls into accesses.c at its accesses to
   memory, which are not made if the line is one of those that the thread has accessed lately and nobody watches (near.c).
   Stored bytes are read from memory after the store, as no other thread runs within a block. */

#include "recorder.h"
#include "libvex_guest_amd64.h"

typedef struct {
   IRSB* out;
   Instruction instruction;
   Addr pc;                   /* of the instruction; 0 before the first */
   UInt length;
   Int pending;               /* instructions of the block that `executed` does not count yet */
   Int loads, stores;         /* such loads and stores */
   Bool counted;              /* the current instruction is counted, in `pending` or in `executed` */
} Block;

struct EveryAccess every_access;

static IRExpr* word(ULong value) { return IRExpr_Const(IRConst_U64(value)); }

static IRExpr* assign(Block* block, IRType type, IRExpr* value)
{
   IRTemp temp = newIRTemp(block->out->tyenv, type);
   addStmtToIRSB(block->out, IRStmt_WrTmp(temp, value));
   return IRExpr_RdTmp(temp);
}

static IRExpr* load_word(Block* block, const ULong* from)
{
   return assign(block, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, word((HWord)from)));
}

/* ---- counting ---- */

static void count(Block* block, const ULong* total, IRExpr* more)
{
   IRExpr* sum = assign(block, Ity_I64, IRExpr_Binop(Iop_Add64, load_word(block, total), more));
   addStmtToIRSB(block->out, IRStmt_Store(Iend_LE, word((HWord)total), sum));
}

static void add_pending(Block* block, const ULong* total, Int* pending)
{
   if (*pending != 0) count(block, total, word(*pending));
   *pending = 0;
}

static void count_pending(Block* block)
{
   add_pending(block, &executed.instructions, &block->pending);
   add_pending(block, &executed.loads, &block->loads);
   add_pending(block, &executed.stores, &block->stores);
}

/* A repeated string operation is translated as a loop over itself; it is one instruction, counted when it is left. */
static void leave_repetition(Block* block, Addr to)
{
   if (block->pc != 0 && !block->counted && to != block->pc) {
      block->pending++;
      block->counted = True;
   }
}

static void count_at_exit(Block* block, const IRStmt* exit)
{
   count_pending(block);
   if (!block->counted && exit->Ist.Exit.dst->Ico.U64 != block->pc)
      count(block, &executed.instructions, assign(block, Ity_I64, IRExpr_Unop(Iop_1Uto64, exit->Ist.Exit.guard)));
}

static void begin_instruction(Block* block, const IRStmt* mark)
{
   leave_repetition(block, mark->Ist.IMark.addr);
   block->pc = mark->Ist.IMark.addr;
   block->length = mark->Ist.IMark.len;
   decode((const UChar*)block->pc, &block->instruction);
   block->counted = !block->instruction.repeats;
   if (block->counted) block->pending++;
}

/* ---- accesses ---- */

static Access* describe(Block* block, Tag tag, UInt size)
{
   enum { AT_ONCE = 1024 };
   static Access* free;
   static UInt left;
   if (left == 0) {
      free = VG_(malloc)("counterpoint.accesses", AT_ONCE * sizeof(Access));
      left = AT_ONCE;
   }
   left--;
   *free = (Access){ .pc = block->pc,
                     .before = block->pending - (block->counted ? 1 : 0),
                     .loads = block->loads,
                     .stores = block->stores,
                     .size = size,
                     .tag = tag,
                     .repeats = block->instruction.repeats };
   return free++;
}

static void call(Block* block, IRExpr* guard, const HChar* name, void* helper, const Access* access, IRExpr* address)
{
   IRExpr** args = address == NULL ? mkIRExprVec_1(mkIRExpr_HWord((HWord)access))
                                   : mkIRExprVec_2(mkIRExpr_HWord((HWord)access), address);
   IRDirty* dirty = unsafeIRDirty_0_N(address == NULL ? 1 : 2, name, VG_(fnptr_to_fnentry)(helper), args);
   if (guard != NULL) dirty->guard = guard;
   addStmtToIRSB(block->out, IRStmt_Dirty(dirty));
}

static IRExpr* and(Block* block, IRExpr* value, ULong mask)
{
   return assign(block, Ity_I64, IRExpr_Binop(Iop_And64, value, word(mask)));
}

/* Whether the line at `address` is not one that the thread has loaded from lately, or stored to if `stored`. */
static IRExpr* is_far(Block* block, IRExpr* address, Bool stored)
{
   enum { TO_OFFSET = 3 };   /* from the address of a line to the offset of a word in `near`, before it is cut */
   IRExpr* shifted = assign(block, Ity_I64, IRExpr_Binop(Iop_Shr64, address, IRExpr_Const(IRConst_U8(TO_OFFSET))));
   IRExpr* offset = and(block, shifted, sizeof near - sizeof near[0]);
   IRExpr* slot = assign(block, Ity_I64, IRExpr_Binop(Iop_Add64, offset, word((HWord)near)));
   IRExpr* found = assign(block, Ity_I64, IRExpr_Load(Iend_LE, Ity_I64, slot));
   IRExpr* wanted = and(block, address, ~(ULong)(LINE - 1));
   if (stored) wanted = assign(block, Ity_I64, IRExpr_Binop(Iop_Or64, wanted, word(1)));
   else found = and(block, found, ~1ULL);
   return assign(block, Ity_I1, IRExpr_Binop(Iop_CmpNE64, found, wanted));
}

/* A call of `helper` at an access: if it takes place, and is of a line that is far. Where it may not take place, or is a step of
   many, or part of a locked operation, it is not counted. */
static void seen(Block* block, IRExpr* condition, const HChar* name, void* helper, Access* access, IRExpr* address)
{
   Bool always = condition == NULL || (condition->tag == Iex_Const && condition->Iex.Const.con->Ico.U1);
   access->counted = always && !access->repeats;
   if (access->counted) *(access->tag == TAG_LOAD ? &block->loads : &block->stores) += 1;
   call(block, always ? is_far(block, address, access->tag != TAG_LOAD) : condition, name, helper, access, address);
}

static void see(Block* block, SeeAccess how, IRExpr* condition, IRExpr* address, const Access* access)
{
   if (how != NULL) call(block, condition, "see", how, access, address);
}

static void load(Block* block, IRExpr* condition, IRExpr* address, UInt size)
{
   Access* access = describe(block, TAG_LOAD, size);
   see(block, every_access.read, condition, address, access);
   if (block->instruction.kind == LOCKED) return;   /* part of the atomic operation */
   seen(block, condition, "load", access_load, access, address);
}

static IRExpr* is_active(Block* block)
{
   return assign(block, Ity_I1, IRExpr_Binop(Iop_CmpNE64, load_word(block, &watch_active), word(0)));
}

static void store(Block* block, IRExpr* condition, IRExpr* address, UInt size)
{
   Access* access;
   if (block->instruction.kind == LOCKED) {
      access = describe(block, TAG_ATOMIC, size);
      call(block, condition != NULL ? condition : is_active(block), "atomic", access_atomic, access, address);
   } else {
      Tag tag = block->instruction.kind == NON_TEMPORAL ? TAG_NT_STORE
                : is_outside(block->pc)                 ? TAG_CALLED_STORE
                                                        : TAG_STORE;
      access = describe(block, tag, size);
      seen(block, condition, "store", access_store, access, address);
   }
   see(block, every_access.written, condition, address, access);
}

static void fence(Block* block)
{
   if (block->instruction.kind == SFENCE)
      call(block, is_active(block), "sfence", access_fence, describe(block, TAG_SFENCE, 0), NULL);
   if (block->instruction.kind == MFENCE)
      call(block, is_active(block), "mfence", access_fence, describe(block, TAG_MFENCE, 0), NULL);
}

static void compare_and_swap(Block* block, const IRCAS* cas)
{
   UInt size = sizeofIRType(typeOfIRExpr(block->out->tyenv, cas->dataLo));
   if (cas->dataHi != NULL) size *= 2;
   load(block, NULL, cas->addr, size);
   store(block, NULL, cas->addr, size);
}

static void helper_call(Block* block, const IRDirty* dirty)
{
   if (dirty->mFx == Ifx_Read || dirty->mFx == Ifx_Modify) load(block, dirty->guard, dirty->mAddr, dirty->mSize);
   if (dirty->mFx == Ifx_Write || dirty->mFx == Ifx_Modify) store(block, dirty->guard, dirty->mAddr, dirty->mSize);
}

static IRExpr* general_register(Block* block, Int number)
{
   enum { BYTES = 8 };
   return assign(block, Ity_I64, IRExpr_Get(offsetof(VexGuestAMD64State, guest_RAX) + number * BYTES, Ity_I64));
}

/* A flush ends its block, where all registers are up to date. */
static IRExpr* flushed_address(Block* block)
{
   const Instruction* flush = &block->instruction;
   ULong constant = (ULong)(Long)flush->displacement;
   if (flush->relative) constant += block->pc + flush->length;
   IRExpr* sum = word(constant);
   if (flush->base >= 0)
      sum = assign(block, Ity_I64, IRExpr_Binop(Iop_Add64, sum, general_register(block, flush->base)));
   if (flush->index >= 0) {
      IRExpr* scale = IRExpr_Const(IRConst_U8(flush->scale));
      IRExpr* scaled = assign(block, Ity_I64, IRExpr_Binop(Iop_Shl64, general_register(block, flush->index), scale));
      sum = assign(block, Ity_I64, IRExpr_Binop(Iop_Add64, sum, scaled));
   }
   if (flush->narrow) sum = assign(block, Ity_I64, IRExpr_Binop(Iop_And64, sum, word(0xffffffff)));
   if (flush->segment >= 0) {
      Int offset = flush->segment == 4 ? offsetof(VexGuestAMD64State, guest_FS_CONST)
                                       : offsetof(VexGuestAMD64State, guest_GS_CONST);
      IRExpr* segment = assign(block, Ity_I64, IRExpr_Get(offset, Ity_I64));
      sum = assign(block, Ity_I64, IRExpr_Binop(Iop_Add64, sum, segment));
   }
   return sum;
}

/* Valgrind ends the block at a flush: to drop translations, or as it does not know the instruction. Here the program
   just goes on behind it. */
static void end_with_flush(Block* block)
{
   Tag tag = block->instruction.kind == CLWB         ? TAG_CLWB
             : block->instruction.kind == CLFLUSHOPT ? TAG_CLFLUSHOPT
                                                     : TAG_CLFLUSH;
   IRExpr* address = flushed_address(block);
   call(block, is_active(block), "flush", access_flush, describe(block, tag, LINE), address);
   block->out->next = word(block->pc + block->instruction.length);
   block->out->jumpkind = Ijk_Boring;
}

static void report_unknown(const Block* block)
{
   const UChar* bytes = (const UChar*)block->pc;
   VG_(umsg)("an instruction that Valgrind does not know, at 0x%lx: %02x %02x %02x %02x %02x %02x %02x %02x\n",
             block->pc, bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7]);
}

/* Threads take turns. Valgrind's are of 100,000 blocks, within which many threads have done everything that they ever do; then
   each would follow all those before it, although on a computer they run at the same time. */
static void end_turn_early(Block* block)
{
   enum { TURN = 500 };
   Int counter = offsetof(VexGuestAMD64State, host_EvC_COUNTER);
   IRExpr* left = assign(block, Ity_I32, IRExpr_Get(counter, Ity_I32));
   IRExpr* most = IRExpr_Const(IRConst_U32(TURN));
   IRExpr* longer = assign(block, Ity_I1, IRExpr_Binop(Iop_CmpLT32U, most, left));
   addStmtToIRSB(block->out, IRStmt_Put(counter, assign(block, Ity_I32, IRExpr_ITE(longer, most, left))));
}

/* ---- the walk ---- */

static UInt load_size(IRLoadGOp conversion)
{
   IRType result, loaded;
   typeOfIRLoadGOp(conversion, &result, &loaded);
   return sizeofIRType(loaded);
}

static void statement(Block* block, IRStmt* statement)
{
   IRTypeEnv* types = block->out->tyenv;
   if (statement->tag == Ist_Exit) count_at_exit(block, statement);
   if (statement->tag == Ist_Dirty) cpuid_offer_flushes(statement->Ist.Dirty.details);
   addStmtToIRSB(block->out, statement);
   switch (statement->tag) {
      case Ist_IMark:
         begin_instruction(block, statement);
         fence(block);
         break;
      case Ist_WrTmp: {
         const IRExpr* data = statement->Ist.WrTmp.data;
         if (data->tag == Iex_Load) load(block, NULL, data->Iex.Load.addr, sizeofIRType(data->Iex.Load.ty));
         break;
      }
      case Ist_LoadG: {
         const IRLoadG* details = statement->Ist.LoadG.details;
         load(block, details->guard, details->addr, load_size(details->cvt));
         break;
      }
      case Ist_Store: {
         IRExpr* data = statement->Ist.Store.data;
         store(block, NULL, statement->Ist.Store.addr, sizeofIRType(typeOfIRExpr(types, data)));
         break;
      }
      case Ist_StoreG: {
         const IRStoreG* details = statement->Ist.StoreG.details;
         store(block, details->guard, details->addr, sizeofIRType(typeOfIRExpr(types, details->data)));
         break;
      }
      case Ist_CAS: compare_and_swap(block, statement->Ist.CAS.details); break;
      case Ist_Dirty: helper_call(block, statement->Ist.Dirty.details); break;
      default: break;
   }
}

IRSB* instrument(VgCallbackClosure* closure, IRSB* in, const VexGuestLayout* layout, const VexGuestExtents* vge,
                 const VexArchInfo* host, IRType guest_word, IRType host_word)
{
   Block block = { .out = deepCopyIRSBExceptStmts(in) };
   Int i = 0;
   while (i < in->stmts_used && in->stmts[i]->tag != Ist_IMark) addStmtToIRSB(block.out, in->stmts[i++]);
   if (every_access.read != NULL) end_turn_early(&block);
   for (; i < in->stmts_used; i++)
      if (in->stmts[i]->tag != Ist_NoOp) statement(&block, in->stmts[i]);

   Bool flush = block.pc != 0 && block.instruction.length != 0;
   if (flush) end_with_flush(&block);
   else if (in->jumpkind == Ijk_NoDecode) report_unknown(&block);
   leave_repetition(&block, in->next->tag == Iex_Const ? in->next->Iex.Const.con->Ico.U64 : 0);
   count_pending(&block);
   return block.out;
}
