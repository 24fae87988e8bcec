//! Describes in sentences what left the chip and should not have.

use crate::audit::pads::{Earlier, Way};
use crate::audit::secrecy::Leak;
use crate::message::Line;

/// The explanation of a leak.
pub(in crate::audit) fn leak(event: u64, line: Line, leak: Leak) -> String {
    let address = line.address();
    match leak {
        Leak::Plaintext { block, way } => {
            let bytes = format!("bytes {} to {}", block * 16, block * 16 + 15);
            match way {
                Way::Run | Way::Boot => format!(
                    "In event {event} the line at {address:#x} left the chip with {bytes} in the clear: they equal what \
                     the program wrote there.{}",
                    remark(way)
                ),
                Way::Battery | Way::BatteryAgain => format!(
                    "If power fails after event {event}{}, the line at {address:#x} is left in the clear at the power \
                     loss: {bytes} of what leaves on battery equal what the program wrote there.",
                    again(way)
                ),
            }
        }
        Leak::PadReuse { block, way, earlier } => {
            let who = user(earlier);
            let used =
                format!("under a pad that {who} had already used for other bytes at {:#x}", earlier.line.address());
            match way {
                Way::Run | Way::Boot => format!(
                    "By event {event} the line at {address:#x} had left the chip with its 16-byte block {block} encrypted \
                     {used}: {LEARNS}{}",
                    remark(way)
                ),
                Way::Battery | Way::BatteryAgain => format!(
                    "If power fails after event {event}{}, the line at {address:#x} leaves on battery with its 16-byte \
                     block {block} encrypted {used}: {LEARNS}",
                    again(way)
                ),
            }
        }
        Leak::TweakReuse { block, earlier } => format!(
            "In event {event} the line at {address:#x} left the chip with a 16-byte block {block} whose ciphertext {} had \
             written at {:#x}: whoever holds both knows that their plaintexts are the same.",
            user(earlier),
            earlier.line.address()
        ),
        Leak::FirstWrite { place, block, earlier } => format!(
            "If power fails after event {event}, the first write of the line at {address:#x} after the reboot{} would \
             encrypt its 16-byte block {block} under the pad that {} used at {:#x}: {LEARNS}",
            if place == 1 { String::new() } else { format!(", if it is write {place} of all,") },
            user(earlier),
            earlier.line.address()
        ),
        Leak::NextLoss { block, earlier } => format!(
            "If power fails after event {event}, the next power loss after the reboot would let the line at {address:#x} \
             leave with its 16-byte block {block} encrypted under the pad that {} used at {:#x}: {LEARNS}",
            user(earlier),
            earlier.line.address()
        ),
    }
}

const LEARNS: &str = "whoever holds both ciphertexts learns the exclusive-or of the two plaintexts.";

fn remark(way: Way) -> &'static str {
    match way {
        Way::Boot => " This is a write of the boot that follows the power failure.",
        _ => "",
    }
}

fn again(way: Way) -> &'static str {
    match way {
        Way::BatteryAgain => " and again in or after the boot",
        _ => "",
    }
}

fn user(earlier: Earlier) -> String {
    match earlier.way {
        Way::Run => format!("event {}", earlier.event),
        Way::Battery => "the power loss".into(),
        Way::Boot => "the boot".into(),
        Way::BatteryAgain => "the second power loss".into(),
    }
}
