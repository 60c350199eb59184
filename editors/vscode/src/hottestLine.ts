/** The line that costs most. */

import type { HotLine, HotLines } from './api';
import type { Server } from './server';

/** Of the lines of the user's code that are still there; nothing where none costs anything. */
export async function hottestLine(server: Server): Promise<HotLine | undefined> {
  const hot = await server.ask<HotLines>('perfline.hotLines', { limit: 20, ownOnly: true });
  return hot?.lines.find((it) => it.value > 0 && it.uri != null && it.line != null);
}
