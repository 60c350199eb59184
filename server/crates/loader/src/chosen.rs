//! Leaves out the ranks that were not asked for.

use std::collections::{BTreeMap, BTreeSet};

use ledger::{GroupMembers, Ledger};

use crate::{Error, RankChoice};

/// The ranks of `choice` among those of the run: `unread` are those whose inputs were not read, because they were not
/// asked for.
///
/// # Errors
/// If a rank or a group is asked for that there is not.
pub(crate) fn chosen(
    choice: &RankChoice,
    ledgers: &BTreeMap<u32, Ledger>,
    unread: &BTreeSet<u32>,
) -> Result<BTreeSet<u32>, Error> {
    let there: BTreeSet<u32> = ledgers.keys().chain(unread).copied().collect();
    if choice.is_all() {
        return Ok(there);
    }
    if let Some(&rank) = choice.ranks.difference(&there).next() {
        return Err(Error::UnknownRank { rank, there: joined(&there) });
    }
    let mut chosen = choice.ranks.clone();
    for group in &choice.groups {
        let members = members(ledgers, group);
        if members.is_disjoint(&there) {
            let group = group.clone();
            return Err(Error::UnknownGroup { group, there: groups(ledgers) });
        }
        chosen.extend(members);
    }
    Ok(chosen)
}

/// The ranks of the groups with this name or description.
fn members(ledgers: &BTreeMap<u32, Ledger>, asked: &str) -> BTreeSet<u32> {
    let mut members = BTreeSet::new();
    for (&rank, communication) in ledgers.values().flat_map(|it| &it.communication) {
        for GroupMembers { name, description, ranks } in &communication.groups {
            if [name, description].into_iter().any(|it| it == asked) {
                members.extend(ranks.iter());
            }
        }
        if communication.sites.keys().any(|site| site.group.name == asked) {
            members.insert(rank);
        }
    }
    members
}

/// The groups that the inputs name.
fn groups(ledgers: &BTreeMap<u32, Ledger>) -> String {
    let mut names = BTreeSet::new();
    for communication in ledgers.values().flat_map(|it| it.communication.values()) {
        names.extend(communication.groups.iter().map(|it| match it.description.as_str() {
            "" => it.name.clone(),
            description => format!("{} ({description})", it.name),
        }));
        let listed = |name: &str| communication.groups.iter().any(|it| it.name == name);
        let of_sites = communication.sites.keys().map(|site| &site.group.name);
        names.extend(of_sites.filter(|it| !it.is_empty() && !listed(it)).cloned());
    }
    if names.is_empty() {
        return "the inputs name no process groups; name ranks with --rank".to_owned();
    }
    format!("expected one of: {}", joined(&names))
}

fn joined<T: ToString>(items: &BTreeSet<T>) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use ledger::RankCommunication;

    use super::*;

    /// Four ranks: a group of all, and two of two that share a description.
    fn ledgers() -> BTreeMap<u32, Ledger> {
        let group = |name: &str, description: &str, ranks: &[u32]| GroupMembers {
            name: name.to_owned(),
            description: description.to_owned(),
            ranks: ranks.iter().copied().collect(),
        };
        let ledger = |rank: u32| {
            let of_two = [group("1", "mesh_tp", &[0, 1]), group("2", "mesh_tp", &[2, 3])];
            let [first, second] = of_two;
            let mine = if rank < 2 { first } else { second };
            let groups = [group("0", "default_pg", &[0, 1, 2, 3]), mine].into();
            let communication = RankCommunication { groups, ..RankCommunication::default() };
            let communication = [(rank, communication)].into();
            (rank, Ledger { communication, ..Ledger::default() })
        };
        (0..4).map(ledger).collect()
    }

    fn of(ranks: &[u32], groups: &[&str]) -> Result<Vec<u32>, String> {
        let groups = groups.iter().map(|&it| it.to_owned()).collect();
        let choice = RankChoice { ranks: ranks.iter().copied().collect(), groups };
        let chosen = chosen(&choice, &ledgers(), &BTreeSet::from([4]));
        chosen.map(|it| it.into_iter().collect()).map_err(|it| it.to_string())
    }

    #[test]
    fn ranks_are_chosen_by_number_and_by_group() {
        assert_eq!(of(&[], &[]), Ok(vec![0, 1, 2, 3, 4]));
        assert_eq!(of(&[3, 1], &[]), Ok(vec![1, 3]));
        assert_eq!(of(&[4], &["2"]), Ok(vec![2, 3, 4]));
        assert_eq!(of(&[], &["mesh_tp"]), Ok(vec![0, 1, 2, 3]));
    }

    #[test]
    fn what_there_is_not_is_refused_with_what_there_is() {
        let unknown = "unknown rank `9`, expected one of: 0, 1, 2, 3, 4";
        assert_eq!(of(&[1, 9], &[]), Err(unknown.to_owned()));
        let unknown =
            "unknown process group `tp`: expected one of: 0 (default_pg), 1 (mesh_tp), 2 (mesh_tp)";
        assert_eq!(of(&[], &["tp"]), Err(unknown.to_owned()));
    }
}
