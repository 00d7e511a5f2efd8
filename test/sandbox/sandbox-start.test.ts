import { describe, expect, it } from 'vitest'
import { PortTakenError } from '../../src/http/server.ts'
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

  it('refuses to start on a port that is taken and names the flag', async () => {
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
