//! What a terminal can show: width and colours; text cut and cleaned for it.

use anstyle::{Ansi256Color, Color, RgbColor, Style};
use unicode_width::UnicodeWidthChar;

pub use anstyle::Color as Ink;

/// What the output can show.
#[derive(Debug, Clone, Copy)]
pub struct Terminal {
    /// Which colours.
    pub colours: Colours,
    /// Columns; `None` where lines may be as long as they like.
    pub width: Option<usize>,
}

/// Which colours the output takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colours {
    /// None: a pipe, or `NO_COLOR` is set.
    Plain,
    /// The 256 of the usual palette.
    Palette,
    /// All of sRGB.
    True,
}

impl Terminal {
    /// `text` in `style`, where styles are shown.
    pub(crate) fn paint(&self, style: Style, text: &str) -> String {
        if self.colours == Colours::Plain || text.is_empty() || style.is_plain() {
            return text.to_owned();
        }
        format!("{style}{text}{style:#}")
    }

    /// A line that opens with a path in bold. Where both do not fit, the path gives way down to half of the line, from
    /// its left: its end shows more.
    pub(crate) fn titled(&self, path: &str, rest: &str) -> String {
        let (path, rest) = (clean(path), clean(rest));
        let room = self.width.map(|width| width.saturating_sub(columns(&rest)).max(width / 2));
        let path = cut_left(&path, room);
        let room = self.width.map(|width| width.saturating_sub(columns(&path)));
        format!("{}{}", self.paint(STRONG, &path), cut(&rest, room))
    }

    /// The background of a cell whose number is `share` (of 1) of the step, with ink that can be read on it.
    #[must_use]
    pub fn heat(&self, share: f64) -> Style {
        let linear = to_linear(ramp(share));
        // Relative luminance (WCAG 2.1): at 0.179 black and white stand out equally.
        let luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
        let ink = if luminance < 0.179 { RgbColor(255, 255, 255) } else { RgbColor(0, 0, 0) };
        let colour = |it: RgbColor| match self.colours {
            Colours::Palette => Color::Ansi256(nearest(it)),
            _ => Color::Rgb(it),
        };
        Style::new().bg_color(Some(colour(to_srgb(linear)))).fg_color(Some(colour(ink)))
    }
}

/// Text that explains rather than states.
pub(crate) const FAINT: Style = Style::new().dimmed();
/// Text that matters most.
pub(crate) const STRONG: Style = Style::new().bold();
/// Text that warns of wrong numbers. A palette colour, so that it fits the theme; the next one too.
pub(crate) const ALARM: Style =
    Style::new().bold().fg_color(Some(Color::Ansi(anstyle::AnsiColor::Red)));
/// Text that says that something is missing.
pub(crate) const DOUBT: Style =
    Style::new().fg_color(Some(Color::Ansi(anstyle::AnsiColor::Yellow)));

/// A colour in Oklab (Björn Ottosson, "A perceptual color space for image processing", 2020): lightness, a, b.
type Oklab = [f64; 3];

/// From indigo over red to yellow. Equal steps along the way look equal, since Oklab is perceptually even and the way is
/// walked at constant speed. Lightness rises all along, which every form of colour vision sees. The root spends more of
/// the way on small shares, of which a recording has many.
fn ramp(share: f64) -> Oklab {
    const WAY: [Oklab; 4] =
        [[0.36, 0.02, -0.14], [0.52, 0.14, -0.03], [0.68, 0.13, 0.10], [0.88, -0.01, 0.16]];
    let length =
        |leg: &[Oklab]| (0..3).map(|i| (leg[1][i] - leg[0][i]).powi(2)).sum::<f64>().sqrt();
    let whole: f64 = WAY.windows(2).map(length).sum();
    let mut left = share.clamp(0.0, 1.0).sqrt() * whole;
    for leg in WAY.windows(2) {
        let length = length(leg);
        if left <= length {
            return [0, 1, 2].map(|i| leg[0][i] + (leg[1][i] - leg[0][i]) * left / length);
        }
        left -= length;
    }
    WAY[WAY.len() - 1]
}

/// Oklab to linear sRGB, with the matrices of the same publication.
fn to_linear([lightness, a, b]: Oklab) -> [f64; 3] {
    let l = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
    let m = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
    let s = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
    [
        4.076_741_662_1 * l - 3.307_711_591_3 * m + 0.230_969_929_2 * s,
        -1.268_438_004_6 * l + 2.609_757_401_1 * m - 0.341_319_396_5 * s,
        -0.004_196_086_3 * l - 0.703_418_614_7 * m + 1.707_614_701_0 * s,
    ]
}

/// The transfer function of IEC 61966-2-1.
fn to_srgb(linear: [f64; 3]) -> RgbColor {
    let [red, green, blue] = linear.map(|it| {
        let it = if it <= 0.003_130_8 { 12.92 * it } else { 1.055 * it.powf(1.0 / 2.4) - 0.055 };
        (it.clamp(0.0, 1.0) * 255.0).round() as u8
    });
    RgbColor(red, green, blue)
}

/// The nearest entry of the 6×6×6 cube and the grey ramp of the 256-colour palette.
fn nearest(RgbColor(red, green, blue): RgbColor) -> Ansi256Color {
    const LEVELS: [u8; 6] = [0, 95, 135, 175, 215, 255];
    let distance = |r: u8, g: u8, b: u8| {
        [(r, red), (g, green), (b, blue)]
            .iter()
            .map(|&(x, y)| u32::from(x.abs_diff(y)).pow(2))
            .sum::<u32>()
    };
    let cube = (0..216u8).map(|it| {
        let level = |it: u8| LEVELS[usize::from(it % 6)];
        (distance(level(it / 36), level(it / 6), level(it)), 16 + it)
    });
    let greys = (0..24u8).map(|it| {
        let level = 8 + 10 * it;
        (distance(level, level, level), 232 + it)
    });
    Ansi256Color(cube.chain(greys).min().map_or(16, |(_, index)| index))
}

/// `text` on one line and without anything that a terminal would take as a command. Recordings and sources are not
/// ours: a name may hold escape sequences.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\t' => cleaned.push_str("    "),
            it if is_hidden(it) => cleaned.push('\u{fffd}'),
            it => cleaned.push(it),
        }
    }
    cleaned
}

/// Whether a character is a command to a terminal (C0, DEL, C1), or changes how the text around it looks without being
/// seen: marks of writing direction, characters without width, line and paragraph separators, tags.
pub(crate) fn is_hidden(character: char) -> bool {
    character.is_control()
        || matches!(
            character,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// At most `width` terminal columns of `text`; an ellipsis stands for what was cut.
#[must_use]
pub fn cut(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    let mut kept = String::new();
    let (mut used, mut at_ellipsis) = (0, 0);
    for character in text.chars() {
        used += character.width().unwrap_or(0);
        if width < used {
            kept.truncate(at_ellipsis);
            if 0 < width {
                kept.push('…');
            }
            return kept;
        }
        kept.push(character);
        if used < width {
            at_ellipsis = kept.len();
        }
    }
    kept
}

/// At most `width` terminal columns of the end of `text`; an ellipsis stands for what was cut.
#[must_use]
pub fn cut_left(text: &str, width: Option<usize>) -> String {
    let Some(width) = width.filter(|&width| width < columns(text)) else { return text.to_owned() };
    let mut used = 1;
    let kept = text.char_indices().rev().take_while(|(_, it)| {
        used += it.width().unwrap_or(0);
        used <= width
    });
    let start = kept.last().map_or(text.len(), |(start, _)| start);
    format!("…{}", &text[start..])
}

/// `text` with spaces before it up to `width` columns.
pub(crate) fn right(text: &str, width: usize) -> String {
    format!("{}{text}", " ".repeat(width.saturating_sub(columns(text))))
}

/// `text` with spaces after it up to `width` columns.
pub(crate) fn left(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// What stays on the line of the number before it.
const UNITS: [&str; 8] = ["%", "ns", "µs", "ms", "s", "KiB", "MiB", "GiB"];

/// `text` in lines of at most `width` columns, where its words allow. No line begins with the unit of a number.
#[must_use]
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let is_unit = UNITS.contains(&word.trim_end_matches([',', '.', ';', ':', ')']));
        match words.last_mut().filter(|it| is_unit && it.ends_with(|it: char| it.is_ascii_digit()))
        {
            Some(number) => *number = format!("{number} {word}"),
            None => words.push(word.to_owned()),
        }
    }
    let mut lines: Vec<String> = Vec::new();
    for word in &words {
        match lines.last_mut() {
            Some(line) if columns(line) + 1 + columns(word) <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.clone()),
        }
    }
    lines
}

/// Terminal columns of `text`.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(|it| it.width().unwrap_or(0)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_by_columns_not_bytes() {
        let rows = [
            ("loss.backward()", 20, "loss.backward()"),
            ("loss.backward()", 15, "loss.backward()"),
            ("loss.backward()", 14, "loss.backward…"),
            ("损失 = 1", 8, "损失 = 1"),
            ("损失 = 1", 7, "损失 =…"),
            ("损失 = 1", 4, "损…"),
            ("x", 0, ""),
        ];
        for (text, width, expected) in rows {
            assert_eq!(cut(text, Some(width)), expected, "{text} in {width}");
            assert!(columns(&cut(text, Some(width))) <= width);
        }
    }

    #[test]
    fn a_path_gives_way_from_its_left_down_to_half_of_the_line() {
        let line = |width| {
            Terminal { colours: Colours::Plain, width }
                .titled("/home/me/train.py", " · 62 % of CPU")
        };
        assert_eq!(line(None), "/home/me/train.py · 62 % of CPU");
        assert_eq!(line(Some(31)), "/home/me/train.py · 62 % of CPU");
        assert_eq!(line(Some(24)), "…me/train.py · 62 % of …");
        assert_eq!(line(Some(10)), "…n.py · 6…");
    }

    #[test]
    fn escape_sequences_and_hidden_marks_do_not_reach_the_terminal() {
        assert_eq!(clean("a\x1b[2Jb\rc\u{202e}d\te"), "a\u{fffd}[2Jb\u{fffd}c\u{fffd}d    e");
        for hidden in "\0\x07\x1b\x7f\u{9b}\u{61c}\u{200b}\u{2028}\u{2066}\u{feff}\u{e0041}".chars()
        {
            assert_eq!(clean(&hidden.to_string()), "\u{fffd}", "{}", hidden.escape_unicode());
        }
        let shown = "模型.py Straße naïve e\u{301} 🙂";
        assert_eq!(clean(shown), shown);
    }

    #[test]
    fn heat_gets_lighter_in_even_steps_and_its_ink_stays_readable() {
        // WCAG 2.1 relative luminance and contrast ratio.
        let luminance = |RgbColor(r, g, b): RgbColor| {
            let [r, g, b] = [r, g, b].map(|it| {
                let it = f64::from(it) / 255.0;
                if it <= 0.040_45 { it / 12.92 } else { ((it + 0.055) / 1.055).powf(2.4) }
            });
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let terminal = Terminal { colours: Colours::True, width: None };
        let mut before = -1.0;
        for step in 0..=100 {
            let style = terminal.heat(f64::from(step) / 100.0);
            let (Some(Color::Rgb(ground)), Some(Color::Rgb(ink))) =
                (style.get_bg_color(), style.get_fg_color())
            else {
                panic!("heat is a colour");
            };
            let (ground, ink) = (luminance(ground), luminance(ink));
            assert!(before < ground, "{step}: {before} {ground}");
            before = ground;
            let contrast = (ground.max(ink) + 0.05) / (ground.min(ink) + 0.05);
            assert!(4.5 <= contrast, "{step}: contrast {contrast}");
        }
    }
}
