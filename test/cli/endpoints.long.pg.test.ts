import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { Value } from 'typebox/value'
import { expect, onTestFinished } from 'vitest'
import { Delivery } from '../../src/delivery/endpoints/delivery-shapes.ts'
import { openDatabase, sql } from '../../src/platform/db/database.ts'
import { silentLog } from '../support/silent-log.ts'
import { it } from '../support/test-database.ts'
import { aWorld, inWorld, jsonLines } from './operator-fixtures.ts'

const KEY = { ENCRYPTION_KEY: 'the first key of the test, long enough' }
const NEW_KEY = {
  ENCRYPTION_KEY: 'the second key of the test, long enough',
  ENCRYPTION_KEY_PREVIOUS: KEY.ENCRYPTION_KEY,
}

const NORTHWIND = '--reseller northwind'

it('an operator creates an endpoint, changes it, finds its dead delivery and sends it again', async ({
  databaseUrl,
}) => {
  const world = await aWorld(databaseUrl, 'postgres')
  const farewatch = inWorld({ ...world, env: { ...world.env, ...KEY } })
  await farewatch('resellers create northwind')
  const { db, close } = openDatabase({ url: databaseUrl, applicationName: 'test', log: silentLog })
  const create = (rest: string) => farewatch(`endpoints create ${NORTHWIND} --target ${rest}`)

  const refused = await create('http://a.example/')
  const created = await create(
    'https://receiver.example/CANARY/hooks/path --kinds became_available expired --price-below 99.50EUR --json',
  )
  const [made] = jsonLines(created)
  const id = String(made?.id)
  const change = (what: string, rest = '') =>
    farewatch(`endpoints ${what} ${id}${rest} ${NORTHWIND}`)
  const updated = jsonLines(await change('update', ' --clear kinds --sold-out --json'))
  const rotated = await change('rotate')
  const [tested] = jsonLines(await change('test', ' --json'))
  const unnamed = await change('trigger', ' sold')
  const triggered = await change('trigger', ' expired')
  await sql`
    update delivery set state = 'dead', due_at = null, ended_at = clock_timestamp(), dead_reason = 'blocked'
  `.execute(db)
  const dead = jsonLines(await farewatch(`deliveries list ${NORTHWIND} --json`))
  const ofAll = await farewatch('deliveries list')
  const shown = await farewatch(`deliveries show ${String(tested?.deliveryId)} ${NORTHWIND}`)
  const replayed = await farewatch(`deliveries replay ${NORTHWIND} --from 2026-01-01`)
  const blocked = await farewatch(`receive ${NORTHWIND} --port 0`)
  const listed = await farewatch('endpoints list')
  const resealed = await inWorld({ ...world, env: { ...world.env, ...NEW_KEY } })(
    'endpoints reseal',
  )
  const deleted = await change('delete', ' --yes')
  await close()

  expect(blocked).toMatchObject({ exit: 2, stdout: '' })
  expect(blocked.stderr).toMatch(/set WEBHOOK_ALLOWED_NETWORKS=127\.0\.0\.1\/32:\d+ in \.env/)
  expect(refused).toMatchObject({ exit: 2, stdout: '' })
  expect(refused.stderr).toContain('target must begin with https://')
  expect(made).toMatchObject({
    target: 'receiver.example/…path',
    kinds: ['became_available', 'expired'],
    rules: { priceBelow: { amount: '99.50', currency: 'EUR' } },
    secret: expect.stringMatching(/^whsec_/) as string,
  })
  expect(updated).toMatchObject([{ kinds: null, rules: { soldOut: true } }])
  expect(rotated.stdout).toMatch(/^whsec_\S{44}\n$/)
  // The command prints what the API answers.
  expect(dead.flatMap((one) => Value.Errors(Delivery, one))).toEqual([])
  expect(dead).toMatchObject([
    { type: 'example.expired', deadReason: 'blocked' },
    { id: tested?.deliveryId, type: 'webhook.test', deadReason: 'blocked' },
  ])
  expect(ofAll.stdout).toMatch(/^id +record +state .*\n─.*\n([0-9a-f-]{36} .* northwind .*\n){2}$/)
  expect(unnamed).toMatchObject({ exit: 2, stdout: '' })
  expect(unnamed.stderr).toContain('watch_started, became_unavailable, became_available')
  expect(triggered.stdout).toMatch(/^delivery [0-9a-f-]{36} added\n$/)
  expect(shown.stdout).toMatch(/^state +dead\ndead reason +blocked$/m)
  expect(replayed).toMatchObject({ exit: 0, stdout: '2 deliveries sent again\n' })
  expect(listed.stdout).toMatch(/receiver\.example\/…path +enabled +2 +0 +all; sold out +webhook/m)
  expect(resealed.stdout).toBe('1 endpoint encrypted again\n')
  expect(deleted).toMatchObject({ exit: 0, stdout: `endpoint ${id} deleted\n` })
  for (const { stdout, stderr } of [refused, created, shown, listed]) {
    expect(`${stdout}${stderr}`).not.toContain('CANARY')
  }
})

it('the form of a body and the headers of requests come from files, which no message quotes', async ({
  databaseUrl,
}) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'farewatch-endpoints-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const write = async (name: string, text: string) => {
    await writeFile(path.join(folder, name), text)
    return path.join(folder, name)
  }
  const template = await write('template.json', '{"note": "{sentence}"}')
  const headers = await write('headers.json', '{"Authorization": "Bearer CANARY-TOKEN"}')
  const broken = await write('broken.json', 'Bearer CANARY-TOKEN')
  const world = await aWorld(databaseUrl, 'postgres')
  const farewatch = inWorld({ ...world, env: { ...world.env, ...KEY } })
  await farewatch('resellers create northwind')
  const create = (rest: string) =>
    farewatch(`endpoints create ${NORTHWIND} --target https://desk.example/notes --json ${rest}`)

  const made = await create(`--format json --template ${template} --headers ${headers}`)
  expect(jsonLines(made)).toMatchObject([
    { format: 'json', template: { note: '{sentence}' }, headerNames: ['authorization'] },
  ])
  const refused = []
  for (const [rest, reason] of [
    [`--headers ${broken}`, 'broken.json cannot be read (it is not JSON)'],
    [`--headers ${folder}/none.json`, 'none.json cannot be read (ENOENT)'],
    ['--format json', 'template must be given for json'],
  ] as const) {
    const ended = await create(rest)
    expect(ended).toMatchObject({ exit: 2, stderr: expect.stringContaining(reason) })
    refused.push(ended)
  }
  for (const { stdout, stderr } of [made, ...refused]) {
    expect(`${stdout}${stderr}`).not.toContain('CANARY')
  }
})
