import http from 'node:http'
import { describe, expect, onTestFinished } from 'vitest'
import { listenLocally } from '../support/local-server.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'

async function serverThatSays(body: string, status: number): Promise<string> {
  const server = http.createServer((_request, response) => response.writeHead(status).end(body))
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return url
}

describe('bad input on the command line', () => {
  it('names every fault of the configuration at once, and starts nothing', async () => {
    const { exit, stderr } = await runCommand(['up'], {
      ROUTE_SYNC_SCHEDULE: 'every day',
      API_PORT: '99999',
      UPSTREAM_BASE_URL: 'ftp://example.org',
      ROUTE_SYNC_SHEDULE: '* * * * *',
    })

    expect(exit).toBe(2)
    for (const name of [
      'ROUTE_SYNC_SCHEDULE',
      'API_PORT',
      'UPSTREAM_BASE_URL',
      'ROUTE_SYNC_SHEDULE',
    ]) {
      expect(stderr).toContain(name)
    }
  })

  it.each(['<html>Bad Gateway</html>', '{"error": "no route"}'])(
    'names the server that answers as no farewatch does: %s',
    async (body) => {
      const url = await serverThatSays(body, 502)
      const env = { FAREWATCH_URL: url, FAREWATCH_KEY: 'fwk_0123456789abcdef' }

      const { exit, stderr } = await runCommand(['resellers', 'list'], env)

      expect(exit).toBe(1)
      expect(stderr).toBe(
        `farewatch: ${url} answers with 502, and not as farewatch does: is FAREWATCH_URL its address?\n`,
      )
    },
  )

  it.for([
    [['sync', '--list', 'fares'], 'routes, with-availability, all'],
    [['routes', 'export', '--as-of', 'yesterday'], '2026-01-31'],
    [['runs', 'list', '--limit', '0'], 'from 1 to 10000'],
    [['fly'], 'unknown command'],
  ] as const)('explains the usage error of %j', async ([args, output]) => {
    const { exit, stderr } = await runCommand(args, {})

    expect(exit).toBe(2)
    expect(stderr).toContain(output)
  })
})
