import { describe, expect, it, onTestFinished } from 'vitest'
import { startChaosPostgres } from '../chaos/chaos-postgres.ts'
import { mountSmallDisk } from '../chaos/small-disk.ts'
import { addressesOf, runFarewatch, startFarewatch } from '../support/child-process.ts'
import { hasPrometheus } from '../support/promtool.ts'
import { freePort } from '../support/redis-tier.ts'
import { until } from '../support/until.ts'
import { startPrometheus } from './prometheus-server.ts'

/** Less than a gigabyte is too little, whatever the share. A tmpfs takes only the memory of its files. */
const SMALL_MB = 700
const ENOUGH_MB = 8_000

const disk = await mountSmallDisk(SMALL_MB)

/** A farewatch API whose PostgreSQL has its data on the small disk, and a Prometheus that scrapes it. */
async function startFixture(folder: string) {
  const postgres = await startChaosPostgres(folder)
  onTestFinished(() => postgres.close())
  const env = {
    DATABASE_URL: await postgres.createDatabase('farewatch_disk_test'),
    API_PORT: String(await freePort()),
    ADMIN_PORT: String(await freePort()),
  }
  const api = startFarewatch(['api'], env)
  onTestFinished(async () => {
    api.child.kill('SIGTERM')
    await api.ended
  })
  await addressesOf(api)
  const prometheus = await startPrometheus(`127.0.0.1:${env.ADMIN_PORT}`)
  onTestFinished(() => prometheus.close())
  return { prometheus, run: (args: readonly string[]) => runFarewatch(args, env) }
}

describe.runIf(disk !== undefined && hasPrometheus())('a disk with too little space', () => {
  // Fault: The disk of the database has too little space.
  it('DiskFilling fires until the disk of the database has enough, and doctor says the same', async () => {
    if (disk === undefined) throw new Error('there is no small disk')
    onTestFinished(() => disk.close())
    const { prometheus, run } = await startFixture(disk.folder)
    const isFiring = async () => (await prometheus.firing()).includes('DiskFilling')
    const isHealthy = async () => !(await run(['doctor'])).stdout.includes('disk_filling')

    await until('DiskFilling fires', isFiring)
    expect(await isHealthy()).toBe(false)

    disk.resize(ENOUGH_MB)

    await until('DiskFilling ends', async () => !(await isFiring()))
    expect(await isHealthy()).toBe(true)
  })
})
