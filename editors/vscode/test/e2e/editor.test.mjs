// What the server shows, in the editor.
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';

import { Bench, keepFailure, until } from './bench.mjs';
import { slowModel } from './workspaces.mjs';

const folder = slowModel();
let bench;
let window;

before(async () => {
  bench = await Bench.start();
  window = await bench.open(folder, 'slow_model.py');
  await window.goTo(46);
});
afterEach(keepFailure);
after(() => bench.stop());

test('hints stand on their lines', async () => {
  const [number] = await window.line('x.max().item() > 100', /\d ms wait ×6$/);
  assert.equal(number, '46');
  await window.line('x = torch.relu(layer(x))', /ms gpu \+.* bwd/);
});

test('hints can be read on the hottest line, in each theme of VS Code', async () => {
  const { page } = window;
  const least = async () =>
    page.evaluate(() => {
      const rgba = (text) => text.match(/[\d.]+/g).map(Number);
      const over = ([r, g, b, a = 1], below) => [r, g, b].map((it, at) => it * a + below[at] * (1 - a));
      const light = (channel) => (channel <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4);
      const luminance = (colour) => {
        const [r, g, b] = colour.map((it) => light(it / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const editor = document.querySelector('.editor-instance .monaco-editor');
      const ground = rgba(getComputedStyle(editor.querySelector('.monaco-editor-background')).backgroundColor);
      const hints = [...editor.querySelectorAll('.view-line span')].filter((it) =>
        getComputedStyle(it, '::after').content.startsWith('"'),
      );
      const grounds = [1, 2, 3, 4, 5, 6].map((level) => {
        const patch = editor.appendChild(document.createElement('div'));
        patch.style.backgroundColor = `var(--vscode-perfline-heatBackground${level})`;
        const colour = rgba(getComputedStyle(patch).backgroundColor);
        patch.remove();
        return over(colour, ground);
      });
      const contrasts = hints.flatMap((it) => {
        const { color, content } = getComputedStyle(it, '::after');
        const text = luminance(rgba(color).slice(0, 3));
        // What a line only calls is no heat of its own.
        return (content.includes('↳') ? [ground] : [ground, ...grounds]).map((it) => {
          const other = luminance(it);
          return (Math.max(text, other) + 0.05) / (Math.min(text, other) + 0.05);
        });
      });
      return contrasts.length === 0 ? undefined : Math.min(...contrasts);
    });
  const workbench = page.locator('.monaco-workbench');
  const themes = ['Dark Modern', 'Dark+', 'Light Modern', 'Light+', 'Dark High Contrast', 'Light High Contrast'];
  for (const theme of themes) {
    await window.command('Preferences: Color Theme');
    await page.keyboard.type(theme);
    const before = await workbench.getAttribute('class');
    await window.pick(new RegExp(`^${theme.replace('+', '\\+')}`));
    // It begins with the one that is there already.
    await until(async () => theme === themes[0] || (await workbench.getAttribute('class')) !== before, theme);
    const contrast = await until(least, `hints in ${theme}`);
    assert.ok(contrast >= 4.5, `${theme}: ${contrast}`);
    await window.screenshot(`hints-${theme.toLowerCase().replaceAll(' ', '-').replace('+', '-plus')}`);
  }
  await window.command('Preferences: Color Theme');
  await page.keyboard.type('Dark Modern');
  await window.pick(/^Dark Modern/);
});

test('hints are inlay hints of the editor if that is wanted, and show without these otherwise', async () => {
  const set = (settings) => {
    mkdirSync(path.join(folder, '.vscode'), { recursive: true });
    writeFileSync(path.join(folder, '.vscode/settings.json'), JSON.stringify(settings));
  };
  const texts = async () => (await window.page.locator('.view-line').allTextContents()).join('\n');
  assert.doesNotMatch(await texts(), /wait.×6/);
  set({ 'perfline.hints.provider': 'inlay' });
  await until(async () => /wait.×6/.test(await texts()), 'inlay hints');
  const all = Object.values(await window.lines()).join('\n');
  assert.equal(all.split('wait ×6').length, 2, all);
  set({ 'editor.inlayHints.enabled': 'off' });
  await until(async () => !/wait.×6/.test(await texts()), 'no inlay hints');
  await window.line('x.max().item() > 100', /\d ms wait ×6/);
});

test('hints stand in a column of their own, to the right of the code or before it', async () => {
  const { page } = window;
  const set = (settings) => writeFileSync(path.join(folder, '.vscode/settings.json'), JSON.stringify(settings));
  /** Where hints and code begin on the screen, in characters from the left of the text. */
  const places = () =>
    page.evaluate(() => {
      const lines = [...document.querySelectorAll('.editor-instance .monaco-editor .view-lines > .view-line')];
      const character = document.createElement('span');
      character.textContent = '0'.repeat(100);
      lines[0].firstChild.append(character);
      const width = character.getBoundingClientRect().width / 100;
      character.remove();
      const left = lines[0].getBoundingClientRect().left;
      const columns = (x) => Math.round(((x - left) / width) * 10) / 10;
      return lines.map((line) => {
        const spans = [...line.querySelectorAll('span span')];
        const mark = (it, which) => getComputedStyle(it, which).content.startsWith('"');
        const after = spans.find((it) => mark(it, '::after'));
        const before = spans.find((it) => mark(it, '::before'));
        const code = spans.find((it) => /\S/.test(it.textContent.replaceAll('\u00a0', '')));
        const walker = code && document.createTreeWalker(code, NodeFilter.SHOW_TEXT).nextNode();
        const range = document.createRange();
        if (walker) {
          const start = walker.data.search(/[^\s\u00a0]/);
          range.setStart(walker, start);
          range.setEnd(walker, start + 1);
        }
        return {
          text: line.textContent.replaceAll('\u00a0', ' '),
          code: walker && columns(range.getBoundingClientRect().left),
          after:
            after &&
            columns(after.getBoundingClientRect().left + parseFloat(getComputedStyle(after, '::after').marginLeft)),
          before: before && getComputedStyle(before, '::before').content.slice(1, -1).replaceAll('\u00a0', ' '),
        };
      });
    });
  set({ 'perfline.hints.place': 'column', 'perfline.hints.column': 60 });
  const column = await until(async () => {
    const found = (await places()).filter((it) => it.after !== undefined);
    return found.length > 2 && found.every(({ after }) => Math.abs(after - 60) < 0.5) && found;
  }, 'hints in column 60');
  await window.screenshot('hints-column');
  const code = (found, text) => found.find((it) => it.text.includes(text)).code;
  assert.equal(code(column, 'x.max().item()'), 12);

  set({ 'perfline.hints.place': 'gutter' });
  const gutter = await until(async () => {
    const found = await places();
    return found.every((it) => it.before !== undefined && it.after === undefined) && found;
  }, 'a column before each line');
  await window.screenshot('hints-gutter');
  assert.ok(gutter.some((it) => /ms wait ×6$/.test(it.before)));
  // Code is as far from the left on lines with a hint as on lines without.
  const indented = gutter.filter((it) => it.code !== undefined).map((it) => it.code - it.text.search(/\S/));
  assert.ok(Math.max(...indented) - Math.min(...indented) < 0.2, indented.join(' '));
  assert.ok(indented[0] >= 15, indented.join(' '));
  assert.equal(await page.locator('.notification-list-item', { hasText: 'unknown setting' }).count(), 0);
  await window.goTo(44);
  await page.keyboard.press('End');
  await page.keyboard.type('\ntyped');
  await until(async () => {
    const typed = (await places()).find((it) => it.text.trim() === 'typed');
    return typed && Math.abs(typed.code - typed.text.search(/\S/) - indented[0]) < 0.2;
  }, 'a line that is typed as far from the left as the others');
  await window.undoAll();
  await window.command('Preferences: Color Theme');
  await page.keyboard.type('Light Modern');
  await window.pick(/^Light Modern/);
  await window.screenshot('hints-gutter-light');
  set({ 'perfline.hints.place': 'column', 'perfline.hints.column': 60 });
  await until(async () => (await places()).some((it) => it.after !== undefined), 'hints in their column');
  await window.screenshot('hints-column-light');
  await window.command('Preferences: Color Theme');
  await page.keyboard.type('Dark Modern');
  await window.pick(/^Dark Modern/);
  set({});
  await until(
    async () => (await places()).every(({ after }) => after === undefined || Math.abs(after - 60) > 0.5),
    'hints at the ends of lines again',
  );
});

test('a hint says how its line is known', async () => {
  await window.line('return x * torch.sigmoid', /~\d+ µs gpu/);
});

test('a line that only calls says what it calls, dimmed', async () => {
  await window.goTo(97);
  await window.line('pred = model(x)', /↳ 4\.45 ms gpu$/);
  const colour = (code) =>
    window.page
      .locator('.view-line', { hasText: code })
      .locator('span span')
      .last()
      .evaluate((it) => getComputedStyle(it, '::after').color);
  assert.notEqual(await colour('pred = model(x)'), await colour('loss.backward()'));
  await window.screenshot('hints-below');
  await window.goTo(46);
});

test('lenses stand above functions and loops', async () => {
  const lens = window.page.locator('.codelens-decoration');
  await lens
    .filter({ visible: true, hasText: /^forward: .*of\sthe\sstep/ })
    .first()
    .waitFor();
  await lens
    .filter({ visible: true, hasText: /^loop: .*of\sthe\sstep/ })
    .first()
    .waitFor();
});

test('a hover names the kernels', async () => {
  // What a finding says is there before the hover of the server.
  const text = await window.hover('x.max().item() > 100', /wait for the GPU/);
  assert.match(text, /reduce_kernel/);
  // Not over each word.
  await window.escape();
  await window.page.mouse.move(5, 5);
  const words = window.page.locator('.view-line', { hasText: 'x.max().item() > 100' }).locator('span span');
  await words.filter({ hasText: 'max' }).first().hover();
  await window.page.waitForTimeout(1000);
  const over = (await window.page.locator('.monaco-hover:not(.hidden)').allInnerTexts()).join('');
  assert.doesNotMatch(over, /thread time/);
  assert.match(text, /sync: the CPU waits/);
  await window.screenshot('hover', { keepMouse: true });
  // So does one over the hint.
  await window.escape();
  const hint = window.page.locator('.view-line', { hasText: 'x.max().item() > 100' }).locator('span span').last();
  const { x, y, width, height } = await hint.boundingBox();
  const shown = window.page.locator('.monaco-hover:not(.hidden)');
  await until(async () => {
    await window.page.mouse.move(5, 5);
    await window.page.mouse.move(x + width - 40, y + height / 2, { steps: 4 });
    await window.page.waitForTimeout(500);
    return (await shown.allInnerTexts()).join('').includes('reduce_kernel');
  }, 'a hover over the hint');
});

test('a line with a costly finding is underlined, and its fixes are offered and applied', async () => {
  const { page } = window;
  const findings = page.locator('.squiggly-warning, .squiggly-info');
  await window.goTo(46);
  await findings.first().waitFor({ state: 'attached' });
  // Findings of one severity on one line have one underline together, so the status bar is what counts them.
  const reported = async () => {
    const text = await page.locator('[id="status.problems"]').innerText();
    return (text.match(/\d+/g) ?? []).reduce((sum, number) => sum + Number(number), 0);
  };
  const count = await reported();
  assert.ok(count > 1);
  const menu = page.locator('.action-widget').first();
  // The menu does not open where the editor has not got the focus back from the palette yet.
  await until(async () => {
    await window.goTo(46);
    await window.command('Quick Fix...');
    return menu.waitFor({ timeout: 5000 }).then(
      () => true,
      () => false,
    );
  }, 'the menu of quick fixes');
  await window.screenshot('quick-fix');
  await menu.locator('.monaco-list-row', { hasText: 'Ignore' }).first().click();
  await window.line('x.max().item() > 100', /# perfline: ignore\[low-occupancy\]/);
  await until(async () => (await reported()) === count - 1, 'one finding less');
  await window.line('x.max().item() > 100', /ignore\[low-occupancy\]\d.* wait ×6/);
  await page.keyboard.press('Control+z');
  await until(async () => (await reported()) === count, 'the finding again');
});

test('hot lines are coloured by heat, and the bar shows how they are known', async () => {
  await window.goTo(40);
  const heat = await until(async () => {
    const found = await window.heat();
    return found[46] && found;
  }, 'heat on line 46');
  assert.equal(heat[46].bar, 'solid');
  assert.equal(heat[29].bar, 'dashed', 'line 29 is inferred');
  assert.notEqual(heat[46].background, heat[28].background);
  assert.equal(heat[40], undefined, 'what costs nothing is not coloured');
  await window.screenshot('heat');
});

test('heat is turned off and on', async () => {
  await window.command('Perfline: Turn Line Heat On or Off');
  await until(async () => Object.keys(await window.heat()).length === 0, 'no heat');
  await window.command('Perfline: Turn Line Heat On or Off');
  await until(async () => (await window.heat())[46], 'heat on line 46');
});

test('numbers move with their lines, and changed lines say so', async () => {
  const { page } = window;
  await window.goTo(45);
  await page.keyboard.press('Home');
  await page.keyboard.press('Enter');
  const [number] = await window.line('x.max().item() > 100', /wait ×6/);
  await until(async () => (await window.lines())[47]?.includes('wait ×6'), 'the hint on line 47');
  assert.ok(['46', '47'].includes(number));
  await until(async () => (await window.heat())[47], 'heat on line 47');
  await window.goTo(47);
  await page.keyboard.press('End');
  // A comment leaves the line what it was, another number does not.
  await page.keyboard.type('  # look');
  await window.line('x.max().item() > 100', /# look\d.* wait ×6/);
  for (let typed = '0:  # look'.length; typed > 0; typed--) {
    await page.keyboard.press('Backspace');
  }
  await page.keyboard.type('1:');
  await window.line('x.max().item() > 101', /≈.*wait ×6/);
  await until(async () => (await window.heat())[47]?.bar === 'dotted', 'a dotted bar on line 47');
  await window.undoAll();
  await window.line('x.max().item() > 100', /:\d.* wait ×6/);
  await until(async () => (await window.lines())[46]?.includes('wait ×6'), 'the hint on line 46');
  await until(async () => (await window.heat())[46]?.bar === 'solid', 'a solid bar on line 46');
});

test('a lens lists the hot lines of its function', async () => {
  const { page } = window;
  await window.goTo(46);
  const lens = page.locator('.codelens-decoration a').filter({ visible: true, hasText: /^forward: 2\d/ });
  await lens.first().click();
  const rows = page.locator('.quick-input-list .monaco-list-row');
  await rows.first().waitFor();
  await window.screenshot('lens-list');
  await window.pick('x.max().item() > 100');
  await until(async () => (await window.cursorLine()) === 46, 'the cursor on line 46');
});
