//! Battery-Backed Encryption: after power is lost the battery runs the AES engine; dirty lines leave for the shadow cache
//! under pads of the incr-counter and addresses outside the memory (sepencr section IV-C).
//!
//! *Published*: the counter goes up when it is used; recovery takes a slot's counter from its location, and puts lines
//! back into the caches. *Hardened*: every slot moves the counter and its metadata name it; recovery puts lines back into
//! memory, and a register says when all are there, so that power may fail in between.

use super::eadr_mc_cme;
use crate::config::Variant;
use crate::mechanism::drain::EncryptToShadow;
use crate::parts::{Design, Domain, PersistenceDomain, RecoveryStep, Register, RegisterName, RestoreInto, StampSource};

pub(super) const fn design(variant: Variant) -> Design {
    let hardened = matches!(variant, Variant::Hardened);
    Design {
        name: "bbe",
        summary: "battery-backed encryption: dirty lines are encrypted on battery and leave for a shadow cache",
        paper: "sepencr, section IV-C",
        domain: PersistenceDomain::Eadr {
            drain: if hardened { &EncryptToShadow { hardened: true } } else { &EncryptToShadow { hardened: false } },
        },
        registers: if hardened {
            &[
                Register { name: RegisterName::ReencryptionStatus, domain: Domain::Adr },
                Register { name: RegisterName::IncrCounter, domain: Domain::NonVolatile },
                Register { name: RegisterName::ShadowConsumed, domain: Domain::NonVolatile },
            ]
        } else {
            &[Register { name: RegisterName::IncrCounter, domain: Domain::NonVolatile }]
        },
        recovery: if hardened {
            &[
                RecoveryStep::ResumeReencryption,
                RecoveryStep::RestoreShadow { stamp: StampSource::Metadata, into: RestoreInto::Memory },
            ]
        } else {
            &[RecoveryStep::RestoreShadow { stamp: StampSource::Location, into: RestoreInto::Caches }]
        },
        ..eadr_mc_cme::design(variant)
    }
}
