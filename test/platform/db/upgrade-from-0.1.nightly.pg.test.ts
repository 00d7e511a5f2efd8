import { execFileSync } from 'node:child_process'
import path from 'node:path'
import { expect } from 'vitest'
import { migrate } from '../../../src/platform/db/migrate.ts'
import { SchemaBefore01Error } from '../../../src/platform/db/schema-version.ts'
import { runFarewatch } from '../../support/child-process.ts'
import { it } from '../../support/test-database.ts'
import { catalogueOf } from './catalogue.ts'
import { createEmptyDatabase, openAnother } from './empty-database.ts'
import { checkOut, has, ROOT, temporaryFolder, upUntil } from './older-version.ts'

/** The commit that the refusal of an older schema names. */
const VERSION_0_1 = /commit ([0-9a-f]{40})/.exec(new SchemaBefore01Error('').message)?.[1] ?? ''
/** A version of the time before 0.1, of whose schema 0.1 is two steps ahead. */
const BEFORE_0_1 = 'ba28b37038a363779d6a661eeb77b5c68c054b6f'

/** When the history in a home begins, as a version reads it. */
function firstRun(root: string, home: string): string {
  const question = 'select min(started_at) as began from farewatch.sync_runs'
  const env = { PATH: process.env.PATH, FAREWATCH_HOME: home }
  const options = { cwd: home, env, encoding: 'utf8' } as const
  return execFileSync(path.join(root, 'bin/farewatch'), ['sql', question, '--json'], options)
}

it.skipIf(!has(VERSION_0_1))(
  'a database that version 0.1 made equals a new one',
  async ({ db }) => {
    const url = await createEmptyDatabase()
    const root = await checkOut(VERSION_0_1)
    const env = { PATH: process.env.PATH, DATABASE_URL: url }
    execFileSync(path.join(root, 'bin/farewatch'), ['migrate'], { env, stdio: 'pipe' })
    const upgraded = openAnother(url).db

    await migrate(upgraded)

    expect(await catalogueOf(upgraded)).toEqual(await catalogueOf(db))
  },
)

it.skipIf(!has(BEFORE_0_1))(
  'a data folder of before 0.1 comes up through version 0.1, with its history',
  async () => {
    const home = await temporaryFolder()
    const old = await checkOut(BEFORE_0_1)
    expect((await upUntil('route sync finished', old, home)).exit).toBe(0)
    const began = firstRun(old, home)
    expect(began).toMatch(/"began":"20/)

    const refused = await upUntil('"ready"', ROOT, home)
    expect(refused.exit).toBe(1)
    expect(refused.output).toMatch(
      /schema 0081_comments, which only farewatch 0\.1 can upgrade.*v0\.1\.0/,
    )

    const root01 = await checkOut(VERSION_0_1)
    const running = await upUntil('"ready"', root01, home, async () => {
      const command = await runFarewatch(['status', '--database'], { FAREWATCH_HOME: home }, home)
      expect(command.exit).toBe(1)
      expect(command.stderr).toMatch(/farewatch 0\.1 \(process \d+\) runs the embedded PostgreSQL/)
      expect(firstRun(root01, home)).toBe(began)
    })
    expect(running.exit).toBe(0)
    const last = await upUntil('"ready"', ROOT, home)
    expect(last.exit, last.output).toBe(0)
    expect(firstRun(ROOT, home)).toBe(began)
  },
)
