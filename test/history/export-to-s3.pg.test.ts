import { mkdtemp, readFile, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, onTestFinished } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import { aWorld, inWorld } from '../cli/operator-fixtures.ts'
import { seedAnalytics } from '../routes/analytics-history.ts'
import { type S3Server, startS3Server } from '../support/s3-server.ts'
import { it } from '../support/test-database.ts'
import { seedHistory, untilFinal } from './prune/prune-fixtures.ts'

const TO = 's3://lake/farewatch'
const TABLES = ['places', 'route_changes']

async function aFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-s3-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  return folder
}

async function aCommand(databaseUrl: string, s3: S3Server) {
  const world = await aWorld(databaseUrl, 'postgres')
  return inWorld({ ...world, env: { ...world.env, ...s3.env } })
}

describe('an export to S3', () => {
  it('puts each file once and its manifest at last, and the next run goes on', async ({
    db,
    databaseUrl,
  }) => {
    await seedAnalytics(db)
    const s3 = await startS3Server()
    const farewatch = await aCommand(databaseUrl, s3)
    const state = path.join(await aFolder(), 'state.json')
    const args = ['export', ...TABLES, '--to', TO, '--state', state]
    const folder = await aFolder()

    const first = await farewatch(...args)
    const next = await farewatch(...args)
    await farewatch('export', ...TABLES, '--to', folder)

    expect([first.exit, next.exit]).toEqual([0, 0])
    expect(first.stdout.trim().split('\n')).toEqual(
      ['places.parquet', 'route_changes.parquet', 'export.json'].map(
        (name) => `${TO}/run=1/${name}`,
      ),
    )
    expect(s3.requests.filter((request) => request.startsWith('PUT'))).toEqual(
      ['run=1', 'run=2'].flatMap((run) =>
        ['places.parquet', 'route_changes.parquet', 'export.json'].map(
          (name) => `PUT /lake/farewatch/${run}/${name}`,
        ),
      ),
    )
    const stored = s3.objects.get('/lake/farewatch/run=1/route_changes.parquet')
    expect(stored).toEqual(await readFile(path.join(folder, 'route_changes.parquet')))
    expect(JSON.parse(await readFile(state, 'utf8'))).toMatchObject({
      to: TO,
      run: 2,
      tables: { route_changes: 33 },
    })
  })

  it('that is refused names the object, takes nothing, and is completed by the next run', async ({
    db,
    databaseUrl,
  }) => {
    await seedAnalytics(db)
    const s3 = await startS3Server()
    const farewatch = await aCommand(databaseUrl, s3)
    const state = path.join(await aFolder(), 'state.json')
    const args = ['export', ...TABLES, '--to', TO, '--state', state]

    s3.refused = 'export.json'
    const refused = await farewatch(...args)
    s3.refused = undefined
    const wrong = await farewatch('export', 'places', '--to', 's3:/lake')
    const completed = await farewatch(...args)

    expect([refused.exit, completed.exit]).toEqual([1, 0])
    expect(refused.stderr).toContain(`${TO}: run=1/export.json: AccessDenied`)
    expect(wrong.stderr).toContain('s3:/lake is not s3://bucket/prefix')
    expect([...s3.objects.keys()]).toEqual([
      '/lake/farewatch/run=1/places.parquet',
      '/lake/farewatch/run=1/route_changes.parquet',
      '/lake/farewatch/run=1/export.json',
    ])
  })

  it('is read by a prune, which refuses an object that was changed', async ({
    db,
    databaseUrl,
  }) => {
    await seedHistory(db)
    const s3 = await startS3Server()
    const farewatch = await aCommand(databaseUrl, s3)
    const prune = ['history', 'prune', '--before', '2026-06-01', '--export', TO, '--yes', '--json']
    await untilFinal(db)
    await farewatch('export', 'all', 'watch_changes', '--to', TO)
    const name = '/lake/farewatch/route_changes.parquet'
    const object = s3.objects.get(name) ?? Buffer.of()

    s3.objects.set(name, Buffer.concat([object, Buffer.of(0)]))
    const refused = await farewatch(...prune)
    s3.objects.set(name, object)
    const pruned = await farewatch(...prune)

    expect([refused.exit, pruned.exit]).toEqual([2, 0])
    expect(refused.stderr).toContain(
      'route_changes.parquet is not the file that its manifest names',
    )
    expect(JSON.parse(pruned.stdout)).toMatchObject({ before: '2026-06-01', deleted: 107 })
    expect((await sql`select farewatch.history_floor() is null as none`.execute(db)).rows).toEqual([
      { none: false },
    ])
  })
})
