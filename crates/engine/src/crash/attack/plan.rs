//! Which attacks are made, and how often.

use super::Attack;
use crate::config::unknown_name;
use crate::kernel::ConfigError;
use strum::VariantArray;

/// What stands for all attacks.
const ALL: &str = "all";

/// The attacks of an exploration.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttackPlan {
    /// One of so many distinct states is attacked.
    pub every: u64,
    /// Bit `n`: whether attack `n` is made.
    attacks: u16,
}

impl AttackPlan {
    /// The attacks called `names`, or all of them, on one of `every` distinct states.
    ///
    /// # Errors
    /// A sentence about a name that does not exist, or about a number that is not at least 1.
    pub fn named(names: &[String], every: u64) -> Result<Self, ConfigError> {
        let known: Vec<&str> = Attack::VARIANTS.iter().map(|attack| <&str>::from(*attack)).chain([ALL]).collect();
        if every == 0 {
            return Err(ConfigError("attack_every: 0 is not at least 1".to_owned()));
        }
        let mut attacks = 0;
        for name in names {
            match known.iter().position(|known| known == name) {
                Some(place) if known[place] == ALL => attacks = u16::MAX,
                Some(place) => attacks |= 1 << place,
                None => return Err(unknown_name("attack", name, &known)),
            }
        }
        Ok(Self { every, attacks })
    }

    /// Whether `attack` is made.
    pub fn has(self, attack: Attack) -> bool {
        self.attacks >> (attack as u32) & 1 == 1
    }
}
