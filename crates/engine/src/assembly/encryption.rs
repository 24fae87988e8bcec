//! What encrypts memory for a design on a machine, for its controller and for a boot, and which parts cannot be
//! combined.

use crate::cipher::{FeedbackCipher, Keys, PadCipher};
use crate::config::{ConfigError, Geometry, Machine};
use crate::controller::{EncryptionParts, LogParts};
use crate::kernel::Random;
use crate::mechanism::pads::LogAndDataPads;
use crate::message::{BaseImage, LogRegion, ShadowRegion};
use crate::parts::{Admit, CounterScheme, CounterUpdate, Design, HardwareLog, LogEncryption, PadSource, WritePath};
use crate::recovery::SchemeCodec;
use std::sync::Arc;

/// What the controller needs for the encryption of `design`; `None` for plaintext memory.
pub(crate) fn encryption_parts(
    machine: &Machine,
    design: &Design,
    seed: u64,
) -> Result<Option<EncryptionParts>, ConfigError> {
    let Some(parts) = design.encryption else { return Ok(None) };
    let (keys, key_bits, capacity) =
        (Keys::from_seed(seed), machine.controller.aes_key_bits, machine.device.capacity.0);
    let data = PadCipher::new(&keys.data, key_bits, capacity)?;
    let mut pads: Box<dyn PadSource> = Box::new(data.clone());
    let mut log = None;
    if let Some(part) = design.log {
        let region = log_region(machine, part);
        pads = Box::new(LogAndDataPads { data, log: PadCipher::new(&keys.log, key_bits, capacity)?, region });
        log = Some(LogParts {
            region,
            encryption: part.encryption,
            order: part.order,
            chains: part.chains,
            feedback: Box::new(FeedbackCipher::new(&keys.log, key_bits)?),
            random: Random::stream(seed, "log.initial-vectors"),
        });
    }
    check(machine, design)?;
    let (scheme, valid_flags) = (parts.scheme(&machine.counters), !machine.counters.reencrypt_unwritten);
    Ok(Some(EncryptionParts { parts, scheme, pads, log, valid_flags }))
}

/// Refuses parts of `design` that cannot be combined with the counters of `machine`.
pub(crate) fn check(machine: &Machine, design: &Design) -> Result<(), ConfigError> {
    let Some(parts) = design.encryption else { return Ok(()) };
    let scheme = parts.scheme(&machine.counters);
    let log_path = design.log.and_then(|log| match log.encryption {
        LogEncryption::Counter { write_path } => Some(write_path),
        LogEncryption::Feedback => None,
    });
    let mut paths = [Some(parts.write_path), log_path].into_iter().flatten().filter(|path| path.admits_bumped_block());
    paths.try_for_each(|path| bump_leaves_block(design, scheme.as_ref(), parts.update, path))
}

/// The encryption that a boot over `base` needs, including the shadow cache if there is one.
pub(crate) fn boot_codec(
    parts: EncryptionParts,
    base: Arc<dyn BaseImage>,
    shadow: Option<ShadowRegion>,
) -> SchemeCodec {
    let mut codec = SchemeCodec::new(parts.scheme, parts.pads, base).with_valid_flags(parts.valid_flags);
    if let Some(region) = shadow {
        codec = codec.with_shadow(region);
    }
    if let Some(log) = parts.log {
        codec = codec.with_log(log.region, log.feedback);
    }
    codec
}

/// Refuses a combination of parts: `path` admits the block that an increment leaves, but an increment leaves no block,
/// or one without the new counter.
fn bump_leaves_block(
    design: &Design,
    scheme: &dyn CounterScheme,
    update: CounterUpdate,
    path: WritePath,
) -> Result<(), ConfigError> {
    let how = if path.at_bump() == Admit::Counter { "appends it at the bump" } else { "stages it with the line" };
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
