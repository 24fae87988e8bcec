//! Requests that wait for banks: those of each bank in the order of their arrival, and those of each row.

use crate::kernel::{Index, Lists};
use crate::message::Location;

/// A queue for each bank. Requests are known by their slots.
#[derive(Clone)]
pub(in crate::controller) struct BankQueues {
    banks: Lists,
    /// By bank and row.
    rows: Index,
}

fn key(Location { bank, row }: Location) -> u64 {
    u64::from(bank) << 32 | u64::from(row)
}

impl BankQueues {
    /// Empty queues of `banks` banks.
    pub fn new(banks: usize) -> Self {
        Self { banks: Lists::new(banks), rows: Index::default() }
    }

    /// Has the request in `slot` wait for its bank.
    #[inline]
    pub fn push(&mut self, slot: u32, location: Location) {
        self.banks.push(usize::from(location.bank), slot);
        self.rows.add(slot, key(location));
    }

    /// Removes the request in `slot`, which waits.
    #[inline]
    pub fn remove(&mut self, slot: u32) {
        self.banks.remove(usize::from(self.location(slot).bank), slot);
        self.rows.remove(slot);
    }

    #[inline]
    fn location(&self, slot: u32) -> Location {
        let key = self.rows.key(slot);
        Location { bank: (key >> 32) as u16, row: key as u32 }
    }

    /// Number of requests.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The oldest request that waits for `bank`.
    #[inline]
    pub fn oldest(&self, bank: u16) -> Option<u32> {
        self.banks.first(usize::from(bank))
    }

    /// The requests that wait for `bank`, oldest first.
    pub fn of_bank(&self, bank: u16) -> impl Iterator<Item = u32> {
        self.banks.iter(usize::from(bank))
    }

    /// The requests that wait for the row of `location`, oldest first.
    #[inline]
    pub fn of_row(&self, location: Location) -> impl Iterator<Item = u32> {
        self.rows.oldest_first(key(location))
    }

    /// The oldest request that waits for `bank` and for another row than `open`. It passes over the older ones that wait
    /// for that row, which are not more than the row has lines as long as each is requested once.
    pub fn oldest_but(&self, bank: u16, open: Option<u32>) -> Option<u32> {
        self.of_bank(bank).find(|&slot| Some(self.location(slot).row) != open)
    }
}
