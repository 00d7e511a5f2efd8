import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { onTestFinished } from 'vitest'
import { ConfigError, type Environment, loadConfig } from '../../../src/platform/config/config.ts'
import type { Config } from '../../../src/platform/config/settings.ts'

/** Creates a temporary folder with these files. */
export function folderWith(files: Readonly<Record<string, string>> = {}): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'farewatch-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(path.join(folder, name), content)
  }
  return folder
}

/** The configuration from this environment and this `.env`. */
export function configOf(env: Environment, dotenv?: string): Config {
  return loadConfig(env, folderWith(dotenv === undefined ? {} : { '.env': dotenv }))
}

/** The faults of the configuration, empty if it is valid. */
export function faultsOf(env: Environment, dotenv?: string): string[] {
  try {
    configOf(env, dotenv)
    return []
  } catch (err) {
    if (!(err instanceof ConfigError)) throw err
    const [, ...faults] = err.message.split('\n')
    return faults.map((fault) => fault.trim())
  }
}
