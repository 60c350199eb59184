/** Which servers an extension can work with. */

export interface Version {
  major: number;
  minor: number;
  patch: number;
}

/** The version in what `perfline --version` prints: `perfline 0.1.0`; nothing if another program printed it. */
export function parseVersion(output: string): Version | undefined {
  const match = /^perfline (\d+)\.(\d+)\.(\d+)/.exec(output.trim());
  return match ? { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3]) } : undefined;
}

/**
 * Whether a server can serve an extension: versions are semantic, and before 1.0 a minor version may change anything.
 * A newer server still has what an older extension asks for.
 */
export function isCompatible(server: Version, extension: Version): boolean {
  if (server.major !== extension.major) {
    return false;
  }
  return server.major === 0 ? server.minor === extension.minor : extension.minor <= server.minor;
}

export function versionText(version: Version): string {
  return `${version.major}.${version.minor}.${version.patch}`;
}
