import { expect, onTestFinished } from 'vitest'
import { sql } from '../../src/platform/db/database.ts'
import type { ProbeReport } from '../../src/upstream/probe/probe-upstream.ts'
import { folderWith } from '../platform/config/config-fixture.ts'
import { flightsThatAre, startTestSandbox, TOKEN } from '../sandbox/support.ts'
import { runCommand } from '../support/run-command.ts'
import { it } from '../support/test-database.ts'
import { cells, resellerWith } from '../watches/watch-fixtures.ts'

async function startSandboxOf(databaseUrl: string) {
  const sandbox = await startTestSandbox()
  onTestFinished(() => sandbox.close())
  const env = {
    DATABASE_URL: databaseUrl,
    UPSTREAM_BASE_URL: sandbox.url,
    UPSTREAM_ACCESS_TOKEN: TOKEN,
  }
  return { sandbox, env }
}

it('upstream probe reports what the sandbox does, within the budget and without the token', async ({
  databaseUrl,
}) => {
  const { sandbox, env } = await startSandboxOf(databaseUrl)
  const args = [
    'upstream',
    'probe',
    '--flight',
    flightsThatAre(sandbox, true)[0] ?? '',
    '--negative',
    '--json',
  ]

  const { exit, stdout, stderr } = await runCommand(args, env, folderWith())

  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  const { calls, skipped } = JSON.parse(stdout) as ProbeReport
  expect(calls.map(({ call, outcome, status }) => [call, outcome, status])).toEqual([
    ['routes', 'ok', 200],
    ['with-availability', 'ok', 200],
    ['verify', 'ok', 200],
    ['routes without a token', 'ok', 200],
    ['verify without a token', 'upstream.auth', 401],
    ['verify for 13 adults', 'upstream.http_4xx', 400],
    ['verify of flight 0', 'ok', 200],
  ])
  expect(calls[1]?.found).toMatchObject({ shape: 'Route[]' })
  expect(calls[2]?.found).toMatchObject({ flight: 'available' })
  expect(skipped).toEqual([])
  expect(stdout).not.toContain(TOKEN)
})

it('upstream probe prints each call with its findings, and names the calls that it did not make', async ({
  databaseUrl,
}) => {
  const { env } = await startSandboxOf(databaseUrl)

  const { exit, stdout } = await runCommand(['upstream', 'probe'], env, folderWith())

  expect(exit).toBe(0)
  expect(stdout).toMatch(/^call +routes\ndocumented +yes\noutcome +ok\nstatus +200\n/)
  expect(stdout).toMatch(/^found +shape Route/m)
  expect(stdout).toContain('not called: verify; no flight is watched: add --flight ID')
})

it('upstream probe verifies a watched flight, at best one that can be booked', async ({
  db,
  databaseUrl,
}) => {
  const { sandbox, env } = await startSandboxOf(databaseUrl)
  const open = flightsThatAre(sandbox, true)[0] ?? ''
  const rows = ['0', open, '1'].map((flight_id) => cells({ reference: flight_id, flight_id }))
  await resellerWith(db, rows)
  await sql`
    insert into fare_state (tracked_fare_id, pair, state)
    select id, case when flight_id = ${open} then 'bookable' else 'not_bookable' end, '{}' from tracked_fare
  `.execute(db)

  const { stdout } = await runCommand(['upstream', 'probe', '--json'], env, folderWith())

  expect((JSON.parse(stdout) as ProbeReport).calls[2]?.found).toMatchObject({
    'flight id': open,
    flight: 'available',
  })
})
