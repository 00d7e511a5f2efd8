import { describe, expect } from 'vitest'
import { it } from '../support/test-database.ts'
import { aWorld, inWorld, jsonLines, killJobs, queueOf, STORES } from './operator-fixtures.ts'

describe.each(STORES)('farewatch jobs, with the queue in %s', (store) => {
  it('lists dead jobs with their failure, retries them and drops them', async ({ databaseUrl }) => {
    const world = await aWorld(databaseUrl, store)
    const system = queueOf(world)
    const farewatch = inWorld(world)
    expect((await farewatch('jobs list')).stdout).toBe('no jobs in this state\n')
    await killJobs(system, { queue: 'verify', count: 3, message: 'out of \u001b[31mluck' })

    const listed = jsonLines(await farewatch('jobs list --json'))
    const text = (await farewatch('jobs list --queue verify --limit 2')).stdout
    const [newest, middle] = listed.map(({ id }) => String(id))
    const retried = await farewatch(`jobs retry verify ${newest} unknown`)

    expect(listed).toHaveLength(3)
    expect(listed[0]).toMatchObject({
      queue: 'verify',
      state: 'dead',
      payload: { claimId: 'claim-3' },
      attempts: 1,
      endedAt: expect.any(String) as string,
    })
    expect(text).toMatch(
      new RegExp(`\n${newest} +verify +Error: out of  \\[31mluck +claimId=claim-3 +1 +20.*\n`),
    )
    expect(retried).toMatchObject({
      exit: 1,
      stdout: '1 job of verify retried\nno dead job of verify has the id unknown\n',
    })
    expect(await system.counts('verify')).toMatchObject({ waiting: 1, failed: 2 })

    const refused = await farewatch('jobs drop verify --all')
    const one = await farewatch(`jobs drop verify ${middle}`)
    const rest = await farewatch('jobs drop verify --all --yes --json')
    expect(refused).toMatchObject({ exit: 2, stderr: expect.stringContaining('add --yes') })
    expect(one).toMatchObject({ exit: 0, stdout: '1 job of verify dropped\n' })
    expect(jsonLines(rest)).toEqual([{ queue: 'verify', changed: 1, missing: [] }])
    expect(await system.counts('verify')).toMatchObject({ waiting: 1, failed: 0 })
    const waiting = jsonLines(await farewatch('jobs list --state waiting --json'))
    expect(waiting).toMatchObject([{ state: 'waiting', payload: { claimId: 'claim-3' } }])
  })
})
