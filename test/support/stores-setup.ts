import { getContainerRuntimeClient } from 'testcontainers'
import type { TestProject } from 'vitest/node'
import { fillAirports } from '../../src/app/fill-airports.ts'
import { openDatabase } from '../../src/platform/db/database.ts'
import { migrate } from '../../src/platform/db/migrate.ts'
import { migrateQueue } from '../../src/platform/queue/queue-connection.ts'
import { adminQuery, databaseUrl } from './postgres-server.ts'
import { startPostgresTier, type Tier } from './postgres-tier.ts'
import { startRedisTier } from './redis-tier.ts'
import { silentLog } from './silent-log.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgresUrl: string
    templateName: string
    redisUrl: string | null
  }
}

const RUNTIME_TIMEOUT_MS = 1_500

/**
 * Starts the stores once for all tests and prints their sources: the URLs in the environment, else containers if a
 * container runtime answers in time and has or gets their images, else embedded PostgreSQL and the machine's
 * redis-server. Every test clones one migrated template database.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const containers = await hasContainerRuntime()
  const started: Tier[] = []
  const stop = async () => {
    for (const tier of started.reverse()) await tier.stop()
  }
  try {
    const postgres = await startPostgresTier(containers)
    started.push(postgres)
    const redis = await startRedisTier(containers)
    if (redis !== undefined) started.push(redis)
    process.stdout.write(
      `stores: PostgreSQL by ${postgres.how}; Redis ${redis === undefined ? 'missing, its tests are skipped' : `by ${redis.how}`}\n`,
    )
    const templateName = await makeTemplate(postgres.url)
    project.provide('postgresUrl', postgres.url)
    project.provide('templateName', templateName)
    project.provide('redisUrl', redis?.url ?? null)
    return async () => {
      await adminQuery(postgres.url, `drop database if exists ${templateName} with (force)`)
      await stop()
    }
  } catch (err) {
    await stop()
    throw err
  }
}

async function hasContainerRuntime(): Promise<boolean> {
  if (process.env.TEST_CONTAINERS === 'off') return false
  const timeout = new Promise<false>((resolve) => {
    setTimeout(resolve, RUNTIME_TIMEOUT_MS, false).unref()
  })
  const answered = getContainerRuntimeClient().then(
    () => true,
    () => false,
  )
  return Promise.race([answered, timeout])
}

async function makeTemplate(postgresUrl: string): Promise<string> {
  const name = `farewatch_test_template_${process.pid}`
  await adminQuery(postgresUrl, `drop database if exists ${name} with (force)`)
  await adminQuery(postgresUrl, `create database ${name}`)
  const database = openDatabase({
    url: databaseUrl(postgresUrl, name),
    applicationName: 'test template',
    log: silentLog,
    maxConnections: 2,
  })
  await migrate(database.db)
  await fillAirports(database.db)
  const client = await database.pool.connect()
  await migrateQueue(client)
  client.release()
  await database.close()
  return name
}
