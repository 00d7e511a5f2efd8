import { access, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import net from 'node:net'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { findPlace } from '../../src/embedded/postgres-place.ts'
import { postgresProcessesIn } from '../../src/embedded/server-process.ts'
import {
  firstLine,
  type LogLine,
  logLines,
  runFarewatch,
  startCommand,
  startInTest,
} from '../support/child-process.ts'
import { listenLocally } from '../support/local-server.ts'
import { startSpanReceiver } from '../support/span-receiver.ts'
import { until } from '../support/until.ts'

describe('farewatch up, with nothing configured', () => {
  let home: string
  let env: Record<string, string>

  beforeAll(async () => {
    home = await mkdtemp(path.join(os.tmpdir(), 'farewatch-up-'))
    env = { FAREWATCH_HOME: home, API_PORT: '0', ADMIN_PORT: '0' }
  })
  afterAll(async () => {
    const { directory } = await findPlace(home)
    await rm(directory, { recursive: true, force: true })
    await rm(home, { recursive: true, force: true })
  })

  it('applies a first list, serves it, and stops in order with its data kept', async () => {
    const receiver = await startSpanReceiver()
    const up = startInTest(['up'], { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }, home)
    const ready = await firstLine(up, 'ready')
    const { directory } = await findPlace(home)
    expect(await firstLine(up, 'stores')).toMatchObject({
      level: 'info',
      database: expect.stringMatching(
        new RegExp(`^PostgreSQL, embedded, port \\d+, data in ${directory}$`),
      ) as string,
      queue: 'in the database',
    })
    const replaced = 'UPSTREAM_BASE_URL is not set: a sandbox replaces the upstream'
    expect(await firstLine(up, replaced)).toMatchObject({ level: 'warn' })
    const synced = await firstLine(up, 'route sync finished')
    expect(synced).toMatchObject({ list: 'routes', status: 'applied', baseline: true })

    const webhook = await firstLine(up, 'webhook received')
    expect(webhook).toMatchObject({ outcome: 'verified', text: expect.stringContaining('[demo /') })

    const named = (name: string) => receiver.spans.filter((span) => span.name === name)
    const kinds = ['sync', 'sync apply', 'claim', 'check', 'record', 'fan-out', 'delivery']
    await until('the spans', () => kinds.every((kind) => named(kind).length > 0))
    const check = named('check')[0]
    expect(
      named('claim')
        .map(({ attributes }) => attributes['farewatch.claim_ids'])
        .join(),
    ).toContain(check?.attributes['farewatch.claim_id'])
    expect(named('record').map(({ traceId }) => traceId)).toContain(check?.traceId)
    expect(named('delivery').map(({ attributes }) => attributes)).toContainEqual(
      expect.objectContaining({
        'farewatch.format': 'webhook',
        'farewatch.outcome': 'delivered',
      }),
    )
    // The watches of the demo, and the addresses of its webhook and sandbox.
    expect(JSON.stringify(receiver.spans)).not.toMatch(/demo-|http:/)

    const [name = '', value = ''] = (
      await readFile(path.join(home, 'keys/operator'), 'utf8')
    ).split(': ')
    const headers = { [name]: value.trim() }
    const routes = await fetch(String(ready.api).replace('/status', '/data/routes'), { headers })
    const { length: count } = (await routes.json()) as unknown[]
    // The next list may be applied at any time: what is served is one of them.
    await until('the list with this number of routes', () =>
      logLines(up).some((line) => line.msg === 'route sync finished' && line.live === count),
    )
    expect((await fetch(String(ready.health))).status).toBe(200)
    // A busy database leaves its gauges out of one answer.
    const metrics = await until('the gauges of the database', async () => {
      const text = await (await fetch(String(ready.metrics))).text()
      return /^farewatch_routes_live [1-9]/m.test(text) && text
    })
    expect(metrics).toMatch(/^farewatch_sync_runs_total\{list="routes",status="applied"\} [1-9]/m)
    const question = 'select count(*) > 0 as live from farewatch.routes_current'
    const embedded = await runFarewatch(['sql', question, '--csv'], env, home)
    expect(embedded).toMatchObject({ exit: 0, stdout: 'live\nt\n' })

    up.child.kill('SIGTERM')
    expect(await up.ended).toBe(0)
    expect(logLines(up).at(-1)).toMatchObject({ msg: 'stopped' })

    const after = await runFarewatch(['runs', 'list', '--json', '--database'], env, home)
    expect(after.stdout).toContain('"status":"applied","baseline":true')
  })

  // Fault: A second signal during the start or the stop of `up`, or a `kill -9`.
  it('ends at once on a second signal and leaves no database behind', async () => {
    const up = startInTest(['up'], env, home)
    await firstLine(up, 'ready')

    // Two equal signals in a row may arrive as one.
    up.child.kill('SIGINT')
    up.child.kill('SIGTERM')

    expect(await up.ended).toBe(130)
    const { data } = await findPlace(home)
    await until('the end of PostgreSQL', async () => (await postgresProcessesIn(data)).length === 0)
  })

  it('goes on after kill -9 of the one before, and a second one ends with one sentence', async () => {
    const killed = startInTest(['up'], env, home)
    const { health } = await firstLine(killed, 'ready')

    const sameAdmin = { ...env, ADMIN_PORT: new URL(String(health)).port }
    const same = await runFarewatch(['up'], sameAdmin, home)
    expect(same.stderr).toContain(`farewatch runs already in ${home}: port `)
    const second = await runFarewatch(['up'], env, home)
    expect(second.exit).toBe(1)
    const line = JSON.parse(second.stderr) as LogLine
    expect(line).toMatchObject({ level: 'fatal', role: 'up', code: 'embedded.busy' })
    expect(line.msg).toMatch(/^another farewatch runs .* already: /)

    killed.child.kill('SIGKILL')
    expect(await killed.ended).toBe('SIGKILL')
    const next = startInTest(['up'], env, home)
    await firstLine(next, 'stopping the embedded postgres of a killed farewatch')
    await firstLine(next, 'ready')
    next.child.kill('SIGTERM')
    expect(await next.ended).toBe(0)
    const { data } = await findPlace(home)
    expect(await postgresProcessesIn(data)).toEqual([])
  })

  it.each([
    ['creates its data', /^data\.partial-/],
    ['starts its server', /^server\.log$/],
  ])('leaves no PostgreSQL behind when two signals end it while it %s', async (_when, name) => {
    const newHome = path.join(home, String(name).replaceAll(/\W/g, ''))
    const { directory } = await findPlace(newHome)
    // An initdb whose caller was killed may still write for a moment.
    const options = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }
    onTestFinished(() => rm(directory, options))
    const up = startInTest(['up'], { ...env, FAREWATCH_HOME: newHome }, home)
    await until('the moment', async () => (await readdir(directory)).some((one) => name.test(one)))

    up.child.kill('SIGINT')
    up.child.kill('SIGTERM')

    expect(await up.ended).toBe(130)
    await until('the end of PostgreSQL', async () => {
      const folders = (await readdir(directory)).map((one) => path.join(directory, one))
      const pids = await Promise.all([directory, ...folders].map(postgresProcessesIn))
      return pids.flat().length === 0
    })
  })

  // Fault: A container engine sends SIGTERM to `npm start`.
  it('ends in order on SIGTERM to npm start, as a container engine sends it', async () => {
    const npm = startCommand(['npm', 'start', '--silent'], env, path.resolve('.'))
    onTestFinished(() => void npm.child.kill('SIGKILL'))
    await firstLine(npm, 'ready')

    npm.child.kill('SIGTERM')

    expect(await npm.ended).toBe(0)
    expect(logLines(npm).at(-1)).toMatchObject({ msg: 'stopped' })
  })

  // Fault: `API_PORT` or `ADMIN_PORT` is taken.
  it('ends before it starts a database when its port is taken', async () => {
    const { port, close } = await listenLocally(net.createServer())
    onTestFinished(close)
    const newHome = path.join(home, 'new')

    const { exit, stderr } = await runFarewatch(
      ['up'],
      { ...env, FAREWATCH_HOME: newHome, API_PORT: String(port) },
      home,
    )

    expect(exit).toBe(1)
    expect(stderr).toContain(`port ${port} is taken`)
    await expect(access(newHome)).rejects.toThrow('ENOENT')
  })
})
