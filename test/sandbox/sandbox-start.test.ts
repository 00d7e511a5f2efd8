import { describe, expect, it } from 'vitest'
import { PortTakenError } from '../../src/platform/http/server.ts'
import { startInTest } from '../support/child-process.ts'
import { until } from '../support/until.ts'
import { manualClock, START, startTestSandbox } from './support.ts'

describe('the sandbox', () => {
  it('changes both lists within a real minute or so at speed 60', async () => {
    const own = manualClock(START)
    const fast = await startTestSandbox({ clock: own, speed: 60 })
    const listsNow = () =>
      Promise.all(
        ['', '/with-availability'].map(async (path) => {
          const response = await fetch(`${fast.url}/api/v1/data/routes${path}`)
          return response.text()
        }),
      )
    try {
      const [routes, available] = await listsNow()
      own.advance(75_000)
      const [routesThen, availableThen] = await listsNow()

      expect(routesThen).not.toBe(routes)
      expect(availableThen).not.toBe(available)
    } finally {
      await fast.close()
    }
  })

  it('logs as its last line that it has stopped', async () => {
    const sandbox = startInTest(['sandbox', '--port', '0'], {})
    await until('its start', () => sandbox.stdout().includes('"msg":"sandbox listens"'))

    sandbox.child.kill('SIGTERM')

    expect(await sandbox.ended).toBe(0)
    const last = sandbox.stdout().trimEnd().split('\n').at(-1) ?? ''
    expect(JSON.parse(last)).toMatchObject({ msg: 'stopped', tookMs: expect.any(Number) as number })
  })

  it('does not start on a taken port, and names the flag', async () => {
    const first = await startTestSandbox()
    const port = Number(new URL(first.url).port)

    try {
      const start = startTestSandbox({ port })

      await expect(start).rejects.toThrow(PortTakenError)
      await expect(start).rejects.toThrow(/--port/)
    } finally {
      await first.close()
    }
  })
})
