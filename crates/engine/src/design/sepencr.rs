//! Separate Encryption: pads made at boot lie beside the data in the caches, so that lines rest encrypted and can leave on
//! a battery that only writes (sepencr section IV-D).
//!
//! *Published*: recovery decrypts the shadow cache into the caches, and then the boot counter goes up and the pads are
//! renewed. *Hardened*: the boot counter goes up first; the old epoch, which the slots' metadata name, is kept until a
//! register says that the shadow cache has been consumed; lines go back into memory.

use super::eadr_mc_cme;
use crate::config::Variant;
use crate::mechanism::drain::ToShadow;
use crate::parts::{
    CachePads, Design, Domain, PersistenceDomain, RecoveryStep, Register, RegisterName, RestoreInto, StampSource,
};

pub(super) const fn design(variant: Variant) -> Design {
    let hardened = matches!(variant, Variant::Hardened);
    Design {
        name: "sepencr",
        summary: "separate encryption: cache pads made at boot in half the ways, dirty lines leave as they rest",
        paper: "sepencr, section IV-D",
        cache_pads: CachePads::BootPads,
        domain: PersistenceDomain::Eadr {
            drain: if hardened { &ToShadow { hardened: true } } else { &ToShadow { hardened: false } },
        },
        registers: if hardened {
            &[
                Register { name: RegisterName::ReencryptionStatus, domain: Domain::Adr },
                Register { name: RegisterName::BootCounter, domain: Domain::NonVolatile },
                Register { name: RegisterName::ShadowConsumed, domain: Domain::NonVolatile },
            ]
        } else {
            &[Register { name: RegisterName::BootCounter, domain: Domain::NonVolatile }]
        },
        recovery: if hardened {
            &[
                RecoveryStep::AdvanceBootCounter,
                RecoveryStep::ResumeReencryption,
                RecoveryStep::RestoreShadow { stamp: StampSource::Metadata, into: RestoreInto::Memory },
            ]
        } else {
            &[
                RecoveryStep::RestoreShadow { stamp: StampSource::BootCounter, into: RestoreInto::Caches },
                RecoveryStep::AdvanceBootCounter,
                RecoveryStep::RenewCachePads,
            ]
        },
        ..eadr_mc_cme::design(variant)
    }
}
