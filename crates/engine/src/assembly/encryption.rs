//! What encrypts memory for a design on a machine, for its controller and for a boot, and which parts cannot be
//! combined.

use super::memory_map::shadow_region;
use crate::cipher::{FeedbackCipher, Keys, MacCipher, PadCipher, XtsCipher};
use crate::config::{self, Geometry, Machine, ModuleKind};
use crate::controller::{self, AcceptedParts, EncryptionParts, IntegrityParts, LogParts, TreeParts};
use crate::kernel::{ConfigError, Random, ns_to_ps};
use crate::layout::{
    LineTree, LogRegion, MediaLayout, MetadataShape, ShadowRegion, ShadowRegisters, TreeShape, UpdateRing,
};
use crate::mechanism::bonsai_tree::BonsaiTree;
use crate::mechanism::counter_tree::{CounterTree, Counting};
use crate::mechanism::dual_counters::DualCounters;
use crate::mechanism::line_hash::ShortHash;
use crate::mechanism::low_bits::LowBits;
use crate::mechanism::low_bits_blocks::LowBitsBlocks;
use crate::mechanism::macs::Macs;
use crate::mechanism::pads::{ConstantTweak, LogAndDataPads, VersionedLines};
use crate::mechanism::page_modes::PagedCipher;
use crate::mechanism::table_contents::TableContents;
use crate::message::{BaseImage, LINE_BYTES, LINES_PER_PAGE};
use crate::parts::{
    Admit, Choice, Counter, CounterScheme, CounterUpdate, CounterVerification, Design, GroupCommit, HardwareLog,
    LineCipher, LogEncryption, LowBitsScheme, MacInputs, MacSource, MacWrite, MinorUnit, NodeMac, PadSource, PageModes,
    PairedLines, PartialUpdates, ReencryptedWords, RootUpdate, ShadowIntegrity, ShadowTable, ShadowTree, TableScheme,
    Tree, TreeNodes, TreeScheme, Tweak, WritePath,
};
use crate::recovery::{CountersInTable, DirectCodec, IntegrityCodec, LineCodec, SchemeCodec, TreeCodec};
use std::sync::Arc;
use thread_local::ThreadLocal;

/// The cipher of a `design` that encrypts lines without counters; `None` for others.
pub(crate) fn line_cipher(
    machine: &Machine,
    design: &Design,
    seed: u64,
) -> Result<Option<Arc<dyn LineCipher>>, ConfigError> {
    let tweak = design.direct.filter(|_| design.encryption.is_none());
    tweak.map(|tweak| xts(machine, design, tweak, &Keys::from_seed(seed))).transpose()
}

/// Bits of the keys of lines that are encrypted without counters. Modules have AES-256, whatever the controller has.
pub(crate) fn direct_key_bits(machine: &Machine, design: &Design) -> u32 {
    if design.modules.is_some() { 256 } else { machine.controller.aes_key_bits }
}

/// Lines of a data unit of AES-XTS: a line of the media, if modules encrypt.
pub(crate) fn data_unit(machine: &Machine, design: &Design) -> u64 {
    if design.modules.is_some() { machine.module.media_line.0 / LINE_BYTES } else { 1 }
}

/// AES-XTS with such a tweak.
fn xts(machine: &Machine, design: &Design, tweak: Tweak, keys: &Keys) -> Result<Arc<dyn LineCipher>, ConfigError> {
    let cipher = XtsCipher::new(&keys.data, &keys.tweak, direct_key_bits(machine, design))?;
    let cipher = cipher.with_units(data_unit(machine, design));
    Ok(match tweak {
        Tweak::Line => Arc::new(cipher),
        Tweak::Constant => Arc::new(ConstantTweak(cipher)),
    })
}

/// The encryption that a boot of `design` over `base` needs, on a machine with `cores` cores, including the shadow cache if
/// there is one; `None` for plaintext memory. `parts`: what [`encryption_parts`] gives.
pub(crate) fn codec_of(
    (machine, cores): (&Machine, u16),
    design: &Design,
    seed: u64,
    parts: Option<EncryptionParts>,
    base: Arc<dyn BaseImage>,
    shadow: Option<ShadowRegion>,
) -> Result<Option<Box<dyn LineCodec>>, ConfigError> {
    if let Some(parts) = parts {
        return Ok(Some(Box::new(boot_codec(machine, cores, parts, base, shadow))));
    }
    let cipher = line_cipher(machine, design, seed)?;
    Ok(cipher.map(|cipher| Box::new(DirectCodec::new(cipher, base)) as Box<dyn LineCodec>))
}

/// What the controller needs for the encryption of `design` in counter mode; `None` if it has no counters.
pub(crate) fn encryption_parts(
    machine: &Machine,
    design: &Design,
    seed: u64,
    base: &Arc<dyn BaseImage>,
) -> Result<Option<EncryptionParts>, ConfigError> {
    let Some(parts) = design.encryption else { return Ok(None) };
    let (keys, key_bits, capacity) =
        (Keys::from_seed(seed), machine.controller.aes_key_bits, machine.device.capacity.0);
    let data = PadCipher::new(&keys.data, key_bits, capacity)?;
    let mut pads: Box<dyn PadSource> = Box::new(data.clone());
    if let Some(tweak) = design.direct {
        pads = Box::new(VersionedLines { pads: data.clone(), lines: xts(machine, design, tweak, &keys)? });
    }
    let scheme = parts.scheme(&machine.counters);
    if parts.pages != PageModes::Counters {
        pads = Box::new(PagedCipher { pads: data.clone(), lines: xts(machine, design, Tweak::Line, &keys)? });
    }
    if parts.words != ReencryptedWords::All {
        let leads = parts.words != ReencryptedWords::ModifiedInPlace;
        let shape = (machine.counters.epoch_writes, machine.counters.word_bytes);
        pads = Box::new(DualCounters::new(data.clone(), scheme.as_ref(), shape, leads));
    }
    let mut log = None;
    if let Some(part) = design.log {
        let region = log_region(machine, part);
        pads = Box::new(LogAndDataPads { data, log: PadCipher::new(&keys.log, key_bits, capacity)?, region });
        log = Some(LogParts {
            region,
            encryption: part.encryption,
            order: part.order,
            chains: part.chains,
            feedback: Arc::new(FeedbackCipher::new(&keys.log, key_bits)?),
            random: Random::stream(seed, "log.initial-vectors"),
        });
    }
    let integrity = integrity_parts(machine, design, &keys, base.as_ref());
    // With MACs, a line that its counter does not call unwritten must have one, so page re-encryption writes it.
    let valid_flags = !machine.counters.reencrypt_unwritten && integrity.is_none();
    let accepted = accepted_parts(machine, design, pads.as_ref());
    Ok(Some(EncryptionParts { parts, scheme, pads, log, valid_flags, integrity, accepted }))
}

/// What the acceptance of writes needs before they are encrypted; `None` if they are not accepted then.
fn accepted_parts(machine: &Machine, design: &Design, pads: &dyn PadSource) -> Option<AcceptedParts> {
    let (unit, drain) = design.minor_unit().zip(design.drain())?;
    let region = shadow_region(machine, design, 1)?;
    let boot = Counter { major: ShadowRegisters::default().boot_counter, minor: 0 };
    let pad = |slot| if drain.encrypts() { [0; 64] } else { pads.pad(region.pad_line(slot), boot) };
    let (macs, hashes) = match unit {
        _ if drain.shadow_integrity() == ShadowIntegrity::None => (0, 0),
        MinorUnit::FullWpq => (0, LineTree::levels_over(region.lines()) as u64),
        MinorUnit::PartialWpq => (1, 0),
        MinorUnit::PostWpq => (0, 0),
    };
    let latency =
        macs * ns_to_ps(machine.integrity.mac_latency_ns) + hashes * ns_to_ps(machine.integrity.hash_latency_ns);
    Some(AcceptedParts { pads: (0..region.slots).map(pad).collect(), latency, macs, hashes })
}

/// What the controller needs for the integrity of memory that starts as `base`; `None` if nothing protects it.
fn integrity_parts(machine: &Machine, design: &Design, keys: &Keys, base: &dyn BaseImage) -> Option<IntegrityParts> {
    let (parts, encryption) = (design.integrity?, design.encryption?);
    let counters = || encryption.scheme(&machine.counters);
    let MediaLayout { macs, tree, .. } = design.media_layout(machine);
    let (inputs, bits) = (parts.mac_inputs, machine.integrity.mac_bits);
    let low = LowBits { bits: machine.integrity.low_bits };
    let has_low_bits = parts.tree.is_some_and(|tree| tree.node_mac == NodeMac::WithLowBits);
    Some(IntegrityParts {
        parts,
        macs: Arc::new(Macs { cipher: MacCipher::new(&keys.mac), inputs, bits, low: has_low_bits.then_some(low) }),
        mac_layout: macs?,
        tree: parts.tree.zip(tree).map(|(parts, shape)| TreeParts {
            parts,
            shape,
            scheme: tree_scheme(parts, shape, MacCipher::new(&keys.tree), low, counters(), base),
            table: parts
                .table
                .has_contents()
                .then(|| Arc::new(TableContents { cipher: MacCipher::new(&keys.tree) }) as Arc<dyn TableScheme>),
            low_bits: has_low_bits
                .then(|| Arc::new(LowBitsBlocks { cipher: MacCipher::new(&keys.tree), low }) as Arc<dyn LowBitsScheme>),
        }),
        shadow: shadow_tree(design, MacCipher::new(&keys.tree)),
        ring: update_ring(machine, design),
    })
}

/// The ring of partial updates of `design`, if it has one.
pub(crate) fn update_ring(machine: &Machine, design: &Design) -> Option<UpdateRing> {
    let layout = design.media_layout(machine);
    let updates = design.integrity.filter(|integrity| integrity.tree.is_some())?.updates;
    (updates != PartialUpdates::None).then(|| UpdateRing {
        lines: machine.integrity.update_ring.0 / LINE_BYTES,
        on_chip: machine.integrity.update_lines as usize,
        mac_bytes: layout.macs.filter(|macs| !macs.beside()).map_or(0, |macs| macs.bits as usize / 8),
        split: layout.coverage.shares_major(),
    })
}

/// Refuses a ring of partial updates that is no longer than what of it is on the chip, and a queue without room beside that.
fn room_for_updates(machine: &Machine, design: &Design) -> Result<(), ConfigError> {
    let Some(UpdateRing { lines, on_chip, .. }) = update_ring(machine, design) else { return Ok(()) };
    let (ring, update_lines) = (machine.integrity.update_ring, machine.integrity.update_lines);
    let (entries, name) = (machine.controller.wpq_entries, &design.name);
    if lines <= on_chip as u64 {
        return Err(ConfigError(format!(
            "integrity.update_ring = {ring} must have more lines than integrity.update_lines = {update_lines} for design '{name}', because \
             these have places of their own in it"
        )));
    }
    if entries > update_lines {
        return Ok(());
    }
    Err(ConfigError(format!(
        "controller.wpq_entries = {entries} must be more than integrity.update_lines = {update_lines} for design '{name}', because these \
         are entries of the queue"
    )))
}

/// The tree over the shadow cache of `design`, if there is one.
fn shadow_tree(design: &Design, cipher: MacCipher) -> Option<ShadowTree> {
    let integrity = design.drain()?.shadow_integrity();
    (integrity != ShadowIntegrity::None).then(|| ShadowTree {
        macs: integrity.has_macs().then(|| {
            let macs = Macs { cipher: cipher.clone(), inputs: MacInputs::All, bits: 64, low: None };
            Arc::new(macs) as Arc<dyn MacSource>
        }),
        hash: Arc::new(ShortHash { cipher }),
        verified: !matches!(integrity, ShadowIntegrity::Unverified | ShadowIntegrity::UnverifiedMacs),
    })
}

fn tree_scheme(
    parts: Tree,
    shape: TreeShape,
    cipher: MacCipher,
    low: LowBits,
    counters: Box<dyn CounterScheme>,
    base: &dyn BaseImage,
) -> Arc<dyn TreeScheme> {
    let counting = match parts.nodes {
        TreeNodes::Hashes => return Arc::new(BonsaiTree::new(shape, cipher, counters, base)),
        TreeNodes::Counters => Counting::Departures,
        TreeNodes::Sums => Counting::Sums,
    };
    Arc::new(CounterTree::new(shape, cipher, (counting, parts.node_mac, low), counters, base))
}

/// Refuses nodes that have no room for what they count, or for what a table has of them.
fn room_in_nodes(machine: &Machine, design: &Design) -> Result<(), ConfigError> {
    let tree = design.integrity.and_then(|integrity| integrity.tree);
    let low_bits = tree.is_some_and(|tree| tree.node_mac == NodeMac::WithLowBits);
    let whole = low_bits || tree.is_some_and(|tree| tree.nodes == TreeNodes::Sums || tree.table.has_contents());
    let (arity, bits) = (machine.integrity.tree_arity, machine.integrity.mac_bits);
    if low_bits && bits != 64 {
        return Err(ConfigError(format!(
            "integrity.mac_bits = {bits} must be 64 for design '{}', whose MACs have 54 bits beside 10 of the counter",
            design.name
        )));
    }
    if !whole || arity == 8 {
        return Ok(());
    }
    Err(ConfigError(format!(
        "integrity.tree_arity = {arity} must be 8 for design '{}', because its nodes have eight whole counters of 56 bits",
        design.name
    )))
}

/// Refuses parts of `design` that cannot be combined with the counters of `machine`.
pub(super) fn check(machine: &Machine, design: &Design) -> Result<(), ConfigError> {
    if design.modules.is_some() && machine.module.kind != ModuleKind::Buffered {
        return Err(ConfigError(format!(
            "design '{}' on machine '{}': encryption = \"module-xts\" needs module.kind = buffered, because it is modules that encrypt \
             (--machine optane or cxl-pm)",
            design.name, machine.name
        )));
    }
    let Some(parts) = design.encryption else { return Ok(()) };
    let scheme = parts.scheme(&machine.counters);
    if parts.words != ReencryptedWords::All && scheme.global() {
        return Err(ConfigError(format!(
            "design '{}' has reencrypted_words = \"{}\", which needs counters of the line's own, because an epoch counts the writes of \
             a line: take split or per-line counters",
            design.name,
            parts.words.name()
        )));
    }
    shreddable(machine, design)?;
    room_for_group(machine, design)?;
    room_for_acceptance(machine, design)?;
    room_for_updates(machine, design)?;
    room_in_nodes(machine, design)?;
    let log_path = design.log.and_then(|log| match log.encryption {
        LogEncryption::Counter { write_path } => Some(write_path),
        LogEncryption::Feedback => None,
    });
    let mut paths =
        [Some(parts.write_path), log_path].into_iter().flatten().filter(|path| path.admits_incremented_block());
    paths.try_for_each(|path| increment_leaves_block(design, scheme.as_ref(), parts.update, path))
}

/// Refuses counters of `machine` with which `design` cannot shred pages, if it does.
fn shreddable(machine: &Machine, design: &Design) -> Result<(), ConfigError> {
    let counters = &machine.counters;
    let (needed, because) = if !design.shreds_pages() {
        return Ok(());
    } else if counters.block_lines != LINES_PER_PAGE as u32 {
        (format!("counters.block_lines = {LINES_PER_PAGE}"), "a page is shredded by one counter block")
    } else if counters.minor_bits < design.least_minor_bits() {
        (
            format!("counters.minor_bits from {} on", design.least_minor_bits()),
            "the minor counter 0 is for lines of zeros, and a page that is encrypted anew begins with 1",
        )
    } else {
        return Ok(());
    };
    Err(ConfigError(format!("design '{}' shreds pages, which needs {needed}, because {because}", design.name)))
}

/// Refuses a design whose write with all that persists with it never finds room in the write pending queue.
fn room_for_group(machine: &Machine, design: &Design) -> Result<(), ConfigError> {
    let Some(integrity) = design.integrity.filter(|integrity| integrity.commit == GroupCommit::Entries) else {
        return Ok(());
    };
    let MediaLayout { macs, tree: shape, .. } = design.media_layout(machine);
    let counter = u32::from(design.encryption.is_some_and(|parts| !parts.write_path.defers_counter(false)));
    let mac = u32::from(integrity.mac_write == MacWrite::WithData && macs.is_some_and(|macs| !macs.beside()));
    let nodes = integrity.tree.zip(shape).map_or(0, |(tree, shape)| {
        u32::from(controller::persisted_levels(&machine.integrity, tree.persistence, shape))
    });
    let (takes, entries) = (1 + counter + mac + nodes, machine.controller.wpq_entries);
    if takes <= entries {
        return Ok(());
    }
    Err(ConfigError(format!(
        "controller.wpq_entries = {entries} must be at least {takes}, because a write of design '{}' takes that many with its \
         counter, its MAC and the nodes that persist with it; group_commit = \"registers\" needs fewer",
        design.name
    )))
}

/// Refuses a queue in which an accepted write leaves no room for what it needs beside its own entry.
fn room_for_acceptance(machine: &Machine, design: &Design) -> Result<(), ConfigError> {
    let Some(unit) = design.minor_unit() else { return Ok(()) };
    let entries = machine.controller.wpq_entries;
    let least = unit.least_queue();
    if entries >= least {
        return Ok(());
    }
    Err(ConfigError(format!(
        "controller.wpq_entries = {entries} must be at least {least} for design '{}', because one entry beside that of an accepted \
         write must be left",
        design.name
    )))
}

/// Refuses a design whose write path asks for the lines of the program's undo log, if nobody knows them.
pub(super) fn log_is_known(design: &Design, known: bool) -> Result<(), ConfigError> {
    let paired = design.encryption.map_or(PairedLines::Marked, |encryption| encryption.paired_lines);
    if known || paired == PairedLines::Marked {
        return Ok(());
    }
    Err(ConfigError(format!(
        "design '{}' has paired_lines = \"{}\", which needs to know where the undo log of the program is; only the workloads that keep \
         one in software say so",
        design.name,
        paired.name()
    )))
}

/// The encryption that a boot over `base` needs, on a machine with `cores` cores, including the shadow cache if there is one.
pub(crate) fn boot_codec(
    machine: &Machine,
    cores: u16,
    parts: EncryptionParts,
    base: Arc<dyn BaseImage>,
    shadow: Option<ShadowRegion>,
) -> SchemeCodec {
    let caches = controller::metadata_shape(machine, parts.parts.store, cores);
    let mut codec = SchemeCodec::new(parts.scheme, parts.pads, base)
        .with_page_modes(parts.parts.pages != PageModes::ByHeatForgotten)
        .with_valid_flags(parts.valid_flags)
        .with_modified_bits(parts.parts.words != ReencryptedWords::ModifiedVolatile);
    if let Some(region) = shadow {
        codec = codec.with_shadow(region);
    }
    if let Some(integrity) = parts.integrity {
        codec = codec.with_integrity(integrity_of_boot(&machine.integrity, caches, integrity));
    }
    if let Some(log) = parts.log {
        codec = codec.with_log(log.region, log.feedback);
    }
    codec
}

/// What a boot needs of the integrity of memory.
fn integrity_of_boot(config: &config::Integrity, caches: MetadataShape, integrity: IntegrityParts) -> IntegrityCodec {
    let persisted_levels = integrity
        .tree
        .as_ref()
        .map_or(0, |tree| controller::persisted_levels(config, tree.parts.persistence, tree.shape));
    let tree = integrity.tree.map(|TreeParts { parts, shape, scheme, table, low_bits }| TreeCodec {
        shape,
        scheme,
        persisted_levels,
        has_table: parts.table != ShadowTable::None,
        verifies_counters: parts.verification == CounterVerification::OnFill,
        root_follows: parts.root_update != RootUpdate::Never,
        table: table.map(|scheme| (scheme, caches.slots())),
        counters_in_table: match parts.table {
            ShadowTable::NodeContents | ShadowTable::KeptNodeContents => CountersInTable::Names { checked: true },
            ShadowTable::UncheckedCounters => CountersInTable::Names { checked: false },
            _ => CountersInTable::Contents,
        },
        low_bits: low_bits.map(|scheme| (scheme, caches)),
    });
    let stop_loss = u64::from(config.stop_loss);
    IntegrityCodec {
        macs: integrity.macs,
        mac_layout: integrity.mac_layout,
        tree,
        shadow: integrity.shadow,
        ring: integrity.ring,
        stop_loss,
        known: ThreadLocal::new(),
    }
}

/// Refuses a combination of parts: `path` admits the block that an increment leaves, but an increment leaves no block,
/// or one without the new counter.
fn increment_leaves_block(
    design: &Design,
    scheme: &dyn CounterScheme,
    update: CounterUpdate,
    path: WritePath,
) -> Result<(), ConfigError> {
    let how = if path.at_bump() == Admit::Counter { "appends it at the increment" } else { "stages it with the line" };
    let why = if scheme.global() {
        "a global counter comes from its register, not from a block: take split or per-line counters, or ready pairs"
    } else if update == CounterUpdate::WithData {
        "with counter_update = \"with-data\" the block has the new counter only when the data is queued: take \"at-bump\", \
         or ready pairs"
    } else {
        return Ok(());
    };
    Err(ConfigError(format!(
        "design '{}' has no counter block for a write path that {how}, because {why}",
        design.name
    )))
}

/// The region of the hardware's log on `machine`.
fn log_region(machine: &Machine, log: HardwareLog) -> LogRegion {
    LogRegion {
        first: Geometry::of(machine).log_start(),
        buckets: machine.log.buckets,
        records: machine.log.bucket_records,
        layout: log.layout,
    }
}
