import { rm } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { monitorPostgres } from '../../src/embedded/monitor-postgres.ts'
import { findPlace } from '../../src/embedded/postgres-place.ts'
import { findPostmaster } from '../../src/embedded/server-process.ts'
import { systemClock } from '../../src/platform/base/clock.ts'
import { collectLog } from '../support/collected-log.ts'
import { until } from '../support/until.ts'
import { acquire, query, serverProcesses, sharedHome, temporaryHome } from './postgres-home.ts'

function collectingLogger() {
  const { log, lines } = collectLog()
  const of = (msg: string) =>
    lines.map((line) => JSON.parse(line)).filter((line) => line.msg === msg)
  return { log, of }
}

/** Checks follow each other without the usual time between them. */
const FAST_CLOCK = {
  now: systemClock.now,
  sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(10, signal),
}

describe('the monitor of the embedded PostgreSQL', () => {
  const place = sharedHome()

  async function own() {
    const { supervision, ...server } = await acquire(place().home)
    if (supervision === undefined) throw new Error('this process is not the owner')
    return { ...server, supervision }
  }

  async function kill(): Promise<void> {
    const server = await findPostmaster(place().data)
    process.kill(server?.pid ?? Number.NaN, 'SIGKILL')
  }

  // Fault: The embedded PostgreSQL is killed.
  it('restarts a server that dies on its port three times, then ends with the reason in the log', async () => {
    const { log, of } = collectingLogger()
    const server = await own()
    const { signal } = new AbortController()
    const monitor = monitorPostgres(server.supervision, { clock: FAST_CLOCK, log }, signal)
    monitor.catch(() => undefined)

    for (const n of [1, 2, 3]) {
      await kill()
      await until('a restart', () => of('embedded postgres restarted').length === n)
      expect(await query(server.url, 'select 1 as one')).toEqual({ one: 1 })
    }
    await kill()

    await expect(monitor).rejects.toMatchObject({ code: 'embedded.died' })
    expect(of('embedded postgres died: restarting it').map((line) => line.restart)).toEqual([
      1, 2, 3,
    ])
    const ended = of('embedded postgres died and 3 restarts did not help')
    expect(ended).toMatchObject([{ level: 'fatal', reason: expect.any(String) }])
    await server.release()
  })

  // Fault: The folder is deleted while farewatch runs.
  it('ends without a restart when the data is deleted, and says so', async () => {
    const { log } = collectingLogger()
    const home = await temporaryHome()
    const { data } = await findPlace(home)
    const { supervision, release } = await acquire(home)
    if (supervision === undefined) throw new Error('this process is not the owner')
    const { signal } = new AbortController()
    const monitor = monitorPostgres(supervision, { clock: FAST_CLOCK, log }, signal)
    monitor.catch(() => undefined)

    await rm(data, { recursive: true, force: true, maxRetries: 10 })

    await expect(monitor).rejects.toMatchObject({ code: 'embedded.deleted' })
    await expect(supervision.explain(new Error('any'))).resolves.toMatchObject({
      message: expect.stringContaining('was deleted') as string,
    })
    await release()
    expect(await serverProcesses(home)).toEqual([])
  })

  it('does not restart a server that is silent, and ends after ten checks', async () => {
    const { log, of } = collectingLogger()
    let checks = 0
    const silent = {
      check: async () => {
        checks += 1
        return { kind: 'silent', reason: 'timeout' } as const
      },
      restart: () => Promise.reject(new Error('a silent server is not restarted')),
    }

    const monitor = monitorPostgres(
      silent,
      { clock: FAST_CLOCK, log },
      new AbortController().signal,
    )

    await expect(monitor).rejects.toMatchObject({ code: 'embedded.died' })
    expect(checks).toBe(10)
    expect(of('embedded postgres does not answer')).toMatchObject([{ reason: 'timeout' }])
  })
})
