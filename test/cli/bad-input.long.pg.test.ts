import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import http from 'node:http'
import os from 'node:os'
import path from 'node:path'
import { describe, expect, onTestFinished } from 'vitest'
import { listenLocally } from '../support/local-server.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'

const UPSTREAM = { UPSTREAM_BASE_URL: 'http://127.0.0.1:9' }

async function serverThatSays(body: string, status: number): Promise<string> {
  const server = http.createServer((_request, response) => response.writeHead(status).end(body))
  const { url, close } = await listenLocally(server)
  onTestFinished(close)
  return url
}

async function fileOf(content: string): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-input-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const file = path.join(folder, 'routes.json')
  await writeFile(file, content)
  return file
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
    ['a file that is not there', undefined, /nowhere\.json/],
    ['a file that is no JSON', '[{"departure":', /routes\.json/],
    ['a file that is no list', '{"routes":[]}', /array/],
    ['a route without an id', '[{"departure":{"id":"1"},"destination":{}}]', /destination/],
  ] as const)('refuses to serve %s', async ([, content, output]) => {
    const file = content === undefined ? '/nowhere.json' : await fileOf(content)

    const { exit, stderr } = await runCommand(['sandbox', '--port', '0', '--routes', file], {})

    expect(exit).toBe(2)
    expect(stderr).toMatch(output)
  })

  it.for([
    ['no JSON', '[{"name":', /--faults .*routes\.json: is not JSON \(/],
    ['no rule', '\uFEFF[{"name":"hnag"}]', /fault rule 1: name is "hnag"/],
  ] as const)('refuses faults of a file that are %s', async ([, content, output]) => {
    const file = await fileOf(content)

    const { exit, stderr } = await runCommand(['sandbox', '--port', '0', '--faults', file], {})

    expect(exit).toBe(2)
    expect(stderr).toMatch(output)
  })

  it('says what a worker without a database needs', async () => {
    const { exit, stderr } = await runCommand(['worker'], { ADMIN_PORT: '0' })

    expect(exit).toBe(2)
    expect(stderr).toContain('DATABASE_URL')
  })

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

  it.for([
    [['--non-residents-adults', '0'], 'at least one adult'],
    [['--residents-adults', '1', '--residents-infants', '3'], 'infants must not outnumber adults'],
  ] as const)(
    'explains the broken rule of a question: %j',
    async ([args, rule], { databaseUrl }) => {
      const env = { ...UPSTREAM, DATABASE_URL: databaseUrl }

      const { exit, stderr } = await runCommand(['verify', '--flight', '1', ...args], env)

      expect(exit).toBe(2)
      expect(stderr).toContain(rule)
    },
  )
})
