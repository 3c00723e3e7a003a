//! Properties of plans and segments.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use regex::bytes::RegexBuilder;

use crate::grams::GramSet;
use crate::plan::{NumberSet, Plan};
use crate::segment::{Content, GROUP_BYTES, HEADER_BYTES, Header, Segment, SegmentBuilder, Stamp, merge};

fn grams(text: &[u8]) -> Vec<u16> {
    let mut set = GramSet::default();
    set.add(text);
    set.take()
}

/// Returns whether a text satisfies a plan, by a segment of this file alone.
fn is_candidate(plan: &Plan, text: &[u8]) -> bool {
    let own = grams(text);
    let row = |gram: u16| if own.contains(&gram) { NumberSet::all(1) } else { NumberSet::none(1) };
    let rows: Vec<_> = plan.grams().into_iter().map(|gram| (gram, row(gram))).collect();
    plan.groups(1, &rows).contains(0)
}

/// Regular expressions over few letters, so that they often match.
fn pattern() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        4 => "[abkKsS]{1,6}",
        1 => "[aäſ\u{212a}ksß]{1,4}",
        1 => Just(".".to_owned()),
        1 => Just("[ab]".to_owned()),
        1 => Just("[^a]".to_owned()),
        1 => Just("[a-k]".to_owned()),
        1 => Just(r"\w".to_owned()),
        1 => Just(r"\s".to_owned()),
        1 => Just(r"\b".to_owned()),
        1 => Just(r"\B".to_owned()),
        1 => Just("^".to_owned()),
        1 => Just("$".to_owned()),
        1 => Just(r"\n".to_owned()),
        1 => Just(r"\r?\n".to_owned()),
        1 => Just(r"(?-u:\xff)".to_owned()),
        1 => Just("(?-u:[^a])".to_owned()),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            3 => proptest::collection::vec(inner.clone(), 1..5).prop_map(|parts| parts.concat()),
            2 => proptest::collection::vec(inner.clone(), 1..4).prop_map(|parts| format!("(?:{})", parts.join("|"))),
            1 => inner.clone().prop_map(|part| format!("({part})")),
            1 => inner.clone().prop_map(|part| format!("(?i:{part})")),
            1 => inner.clone().prop_map(|part| format!("(?s-i:{part})")),
            1 => (inner, "[*+?]|\\{2\\}|\\{1,3\\}|\\{2,\\}|[*+?]\\?").prop_map(|(part, times)| format!("(?:{part}){times}")),
        ]
    })
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        6 => "[abkKsS]{0,8}".prop_map(String::into_bytes),
        2 => "[aäſ\u{212a}ksß \t]{0,4}".prop_map(String::into_bytes),
        1 => Just(b"\r\n".to_vec()),
        1 => Just(b"\n".to_vec()),
        1 => Just(b"\xff".to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..4),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn cases(normal: u32) -> ProptestConfig {
    let more = std::env::var("PADDOCK_INDEX_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: more.unwrap_or(normal), ..ProptestConfig::default() }
}

/// Returns a segment with these files, and a binary one.
fn segment(texts: &[Vec<u8>]) -> Vec<u8> {
    let mut builder = SegmentBuilder::new(GROUP_BYTES);
    for (number, text) in texts.iter().enumerate() {
        builder.add_text(text);
        builder.add_file(&format!("{number}"), stamp(number), text.len() as u32);
    }
    builder.add_binary("z", stamp(texts.len()), 77);
    builder.finish()
}

/// Returns a stamp whose order differs from that of the numbers.
fn stamp(number: usize) -> Stamp {
    Stamp([(number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15), number as u64])
}

fn open(bytes: &[u8]) -> Option<Segment> {
    let header = Header::read(bytes, bytes.len() as u64)?;
    Segment::read(bytes.get(..header.head_bytes())?.to_vec(), header)
}

fn row(segment: &Segment, bytes: &[u8], gram: u16) -> Option<NumberSet> {
    let block = segment.block(gram)?;
    segment.groups_with(gram, bytes.get(block.start as usize..block.end as usize)?)
}

proptest! {
    #![proptest_config(cases(4_000))]

    #[test]
    fn a_text_with_a_match_satisfies_the_plan(
        pattern in pattern(),
        texts in proptest::collection::vec(text(), 8),
        flags in any::<[bool; 4]>(),
    ) {
        let [fold, multi_line, crlf, dot] = flags;
        let regex = RegexBuilder::new(&pattern).case_insensitive(fold).multi_line(multi_line).crlf(crlf)
            .dot_matches_new_line(dot).build();
        let hir = regex_syntax::ParserBuilder::new().utf8(false).case_insensitive(fold).multi_line(multi_line)
            .crlf(crlf).dot_matches_new_line(dot).build().parse(&pattern);
        let (Ok(regex), Ok(hir)) = (regex, hir) else { return Ok(()) };
        let plan = Plan::of(&hir);
        for text in texts {
            prop_assert!(!regex.is_match(&text) || is_candidate(&plan, &text), "{pattern:?} {text:?} {plan:?}");
        }
    }
}

proptest! {
    #![proptest_config(cases(64))]

    #[test]
    fn a_segment_has_the_groups_of_each_trigram(texts in proptest::collection::vec(text(), 0..40), times in 1..3_000_usize) {
        let texts: Vec<Vec<u8>> = texts.iter().map(|text| text.repeat(times)).collect();
        let bytes = segment(&texts);
        let segment = open(&bytes).unwrap();
        prop_assert_eq!(segment.header().files(), texts.len() + 1);
        let mut by_gram: BTreeMap<u16, BTreeSet<usize>> = BTreeMap::new();
        for file in segment.files() {
            let number = file.stamp.0[1] as usize;
            let Some(text) = texts.get(number) else {
                prop_assert_eq!((file.bytes, file.content), (77, Content::Binary));
                continue;
            };
            prop_assert_eq!(file.bytes as usize, text.len());
            let Content::Text(group) = file.content else { panic!("{:?}", file.content) };
            let group = usize::from(group);
            for gram in grams(text) {
                by_gram.entry(gram).or_default().insert(group);
            }
        }
        for gram in (0..=u16::MAX).step_by(977).chain(by_gram.keys().copied()) {
            let row = row(&segment, &bytes, gram).unwrap();
            let expected = by_gram.get(&gram).cloned().unwrap_or_default();
            prop_assert!(expected.iter().all(|group| row.contains(*group)));
            prop_assert!(row.len() == expected.len() || expected.len() * 5 > segment.header().groups() * 4);
        }
    }

    #[test]
    fn merged_segments_have_the_groups_of_all(texts in proptest::collection::vec(text(), 0..40), parts in 1..5_usize) {
        let parts: Vec<Vec<u8>> = texts.chunks(texts.len().div_ceil(parts).max(1)).map(segment).collect();
        let opened: Vec<_> = parts.iter().map(|bytes| (open(bytes).unwrap(), bytes.clone())).collect();
        let merged = merge(&opened).unwrap();
        let whole = open(&merged).unwrap();
        let files: Vec<_> = whole.files().collect();
        prop_assert_eq!(files.len(), opened.iter().map(|(segment, _)| segment.header().files()).sum::<usize>());
        for gram in (0..=u16::MAX).step_by(199).chain(texts.iter().flat_map(|text| grams(text))) {
            let row_of_all = row(&whole, &merged, gram).unwrap();
            let mut first = 0;
            for (segment, bytes) in &opened {
                let own = row(segment, bytes, gram).unwrap();
                prop_assert!((0..segment.header().groups()).all(|group| !own.contains(group) || row_of_all.contains(first + group)));
                first += segment.header().groups();
            }
        }
        let mut files = files.iter();
        for (number, (segment, _)) in opened.iter().enumerate() {
            for file in segment.files() {
                let merged = files.next().unwrap();
                prop_assert_eq!((file.stamp, file.bytes), (merged.stamp, merged.bytes));
                if let (Content::Text(own), Content::Text(group)) = (file.content, merged.content) {
                    let first: usize = opened[..number].iter().map(|(segment, _)| segment.header().groups()).sum();
                    prop_assert_eq!(usize::from(own) + first, usize::from(group));
                }
            }
        }
        if let Some((_, bytes)) = opened.first() {
            let mut damaged = opened.iter().map(|(_, bytes)| (open(bytes).unwrap(), bytes.clone())).collect::<Vec<_>>();
            damaged[0].1[bytes.len() - 1] ^= 1;
            prop_assert!(merge(&damaged).is_none());
        }
    }

    #[test]
    fn arbitrary_bytes_are_no_segment(mut bytes in proptest::collection::vec(any::<u8>(), 0..64), files in 1..3u32) {
        prop_assert!(open(&bytes).is_none());
        // A header that is right is not enough.
        let mut forged = segment(&[]);
        forged.truncate(HEADER_BYTES);
        forged[12..16].copy_from_slice(&files.to_le_bytes());
        bytes.resize(segment(&[]).len() - HEADER_BYTES + (files as usize) * 22 - 22, 0);
        forged.extend(bytes);
        prop_assert!(open(&forged).is_none());
    }
}

#[test]
fn texts_of_random_characters_are_not_indexed() {
    let mut random = 7_u64;
    let mut text = Vec::new();
    for _ in 0..40_000 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        text.push(b' ' + (random >> 57) as u8 % 95);
    }
    let bytes = segment(&[text, b"needle".repeat(8_000)]);
    let contents: Vec<_> = open(&bytes).unwrap().files().map(|file| (file.stamp.0[1], file.content)).collect();
    assert!(contents.contains(&(0, Content::Unknown)) && contents.contains(&(1, Content::Text(0))), "{contents:?}");
}

#[test]
fn damage_is_detected() {
    let texts: Vec<Vec<u8>> =
        (0..9).map(|number| format!("text number {number} of several").repeat(2_000).into_bytes()).collect();
    let whole = segment(&texts);
    let segment = open(&whole).unwrap();
    let rows = |bytes: &[u8]| -> Option<Vec<NumberSet>> {
        let segment = open(bytes)?;
        (0..=u16::MAX).step_by(32).map(|gram| row(&segment, bytes, gram)).collect()
    };
    let expected = rows(&whole).unwrap();
    assert_eq!(expected.len(), 2_048);
    for length in 0..whole.len() {
        assert!(open(&whole[..length]).is_none(), "{length} bytes");
    }
    let mut damaged = whole.clone();
    let lists = segment.block(0).unwrap().start as usize;
    for at in 0..whole.len() {
        damaged[at] ^= 1 << (at % 8);
        if at < lists {
            assert!(open(&damaged).is_none(), "byte {at}");
        } else if at % 61 == 0 {
            assert!(rows(&damaged).is_none(), "byte {at}");
        }
        damaged[at] = whole[at];
    }
    assert_eq!(rows(&whole).unwrap(), expected);
}
