import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { startTestSandbox, TOKEN } from '../sandbox/support.ts'
import { addressesOf, startInTest } from '../support/child-process.ts'
import { it } from '../support/test-database.ts'
import { until } from '../support/until.ts'
import { ENVIRONMENT, PODS } from './kubernetes-file.ts'

/** What Kubernetes adds to each container, also without service links. */
const OF_CLUSTER = { KUBERNETES_SERVICE_HOST: '10.96.0.1', KUBERNETES_PORT: 'tcp://10.96.0.1:443' }
const MOUNT = '/run/secrets/farewatch'

it('the processes of the pods start with exactly their arguments and environment, are ready and alive by their probes, and end on SIGTERM', async ({
  databaseUrl,
}) => {
  const sandbox = await startTestSandbox()
  onTestFinished(() => sandbox.close())
  const secrets = mkdtempSync(path.join(os.tmpdir(), 'farewatch-secrets-'))
  onTestFinished(() => rmSync(secrets, { recursive: true }))
  const values: Readonly<Record<string, string>> = {
    'database-url': databaseUrl,
    'upstream-token': TOKEN,
    'encryption-key': Buffer.alloc(32, 7).toString('base64'),
  }
  for (const [name, value] of Object.entries(values)) {
    writeFileSync(path.join(secrets, name), value)
    chmodSync(path.join(secrets, name), 0o440)
  }
  // Without Redis the queue is in PostgreSQL.
  const { REDIS_URL_FILE: _redis, ...environment } = ENVIRONMENT
  const mounted = Object.entries(environment).map(([name, value]) => [
    name,
    value.replace(MOUNT, secrets),
  ])
  const env = {
    ...Object.fromEntries(mounted),
    ...OF_CLUSTER,
    NODE_ENV: 'production',
    UPSTREAM_BASE_URL: sandbox.url,
    // Each pod has its own address; here they share one.
    ADMIN_PORT: '0',
    API_PORT: '0',
  }

  for (const [name, { containers, terminationGracePeriodSeconds }] of PODS) {
    const [{ args, readinessProbe, livenessProbe }] = containers
    const running = startInTest(args, env, os.tmpdir())
    if (readinessProbe !== undefined && livenessProbe !== undefined) {
      const { origin } = new URL((await addressesOf(running)).health)
      for (const { httpGet } of [readinessProbe, livenessProbe]) {
        await until(`${name} ${httpGet.path}`, async () => (await fetch(origin + httpGet.path)).ok)
      }
      running.child.kill('SIGTERM')
    }
    const stoppedAt = performance.now()

    expect(await running.ended, running.stderr()).toBe(0)
    if (readinessProbe !== undefined) {
      expect(performance.now() - stoppedAt).toBeLessThan(terminationGracePeriodSeconds * 1_000)
    }
  }
})
