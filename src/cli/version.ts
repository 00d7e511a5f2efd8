import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import packageJson from '../../package.json' with { type: 'json' }

const ROOT = path.join(import.meta.dirname, '../..')

/** The build of an image writes the file; a checkout has its history. */
export function versionText(): string {
  const built = path.join(ROOT, 'commit')
  const commit = existsSync(built)
    ? readFileSync(built, 'utf8').trim()
    : spawnSync('git', ['-C', ROOT, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).stdout?.trim()
  return commit ? `${packageJson.version} (${commit.slice(0, 12)})` : packageJson.version
}

/** The fields by which a line of a log belongs to one of several processes. */
export function processFields(role: string) {
  return { role, pid: process.pid, version: packageJson.version }
}
