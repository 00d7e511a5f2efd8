// Builds the image and runs the demo of docker-compose.yml in containers:
//   npx node test/containers/run-stack.ts
// Without a container engine it prints that and exits with 0, or with 1 if REQUIRE_CONTAINERS is set.
import { appendFileSync } from 'node:fs'
import path from 'node:path'
import { freePort } from '../support/redis-tier.ts'
import { until } from '../support/until.ts'
import { fireAlert } from './alert-in-stack.ts'
import { createStack, findCompose, run, type Stack } from './compose.ts'

const PROJECT = 'farewatch-stack'
const MINUTES_MS = 60_000

interface Feed {
  readonly items: readonly { readonly seq: number; readonly kind: string }[]
}

const print = (text: string) => process.stdout.write(`${text}\n`)

async function runStack(stack: Stack): Promise<void> {
  const [port, prometheusPort] = [await freePort(), await freePort()]
  run(stack.folder, path.join(stack.folder, 'deploy/prepare'), ['demo'])
  appendFileSync(
    path.join(stack.folder, '.env'),
    `FAREWATCH_PUBLISHED_PORT=${port}\nPROMETHEUS_PORT=${prometheusPort}\nFAREWATCH_WORKERS=2\n`,
  )
  stack.compose('build')
  print('the image is built')
  stack.compose('up', '--detach')
  await untilHealthy(stack)
  print('all containers are healthy, with two workers')

  const key = stack.compose('run', '--rm', '-T', 'api', 'keys', 'create', '--reseller', 'demo')
  const read = (after: number) => readChanges(`http://127.0.0.1:${port}`, key.trim(), after)
  const first = await untilChange(read, 0)
  print(`a change came through the published port: ${first.kind}, ${first.seq}`)

  await killWorker(stack, read)

  const addresses = {
    api: `http://127.0.0.1:${port}`,
    prometheus: `http://127.0.0.1:${prometheusPort}`,
  }
  const { annotations } = await fireAlert(stack, addresses)
  print(`the API was killed and started by its runbook: "${annotations.summary}" fired and ended`)

  const kept = await read(0)
  stack.compose('down')
  stack.compose('up', '--detach')
  await untilHealthy(stack)
  const again = await until('the API after "down" and "up"', () => read(0), MINUTES_MS)
  if (JSON.stringify(again.items.slice(0, kept.items.length)) !== JSON.stringify(kept.items)) {
    throw new Error('the feed has changed after "down" and "up"')
  }
  print(`${kept.items.length} records are the same after "down" and "up", read with the same key`)
}

/** Compose starts the services after the stores and the migration. A service is healthy when it is ready. */
async function untilHealthy(stack: Stack): Promise<void> {
  await until('healthy containers', () => states(stack).every(isHealthy), 3 * MINUTES_MS)
  const workers = states(stack, 'worker').length
  if (workers !== 2) throw new Error(`${workers} workers instead of two`)
}

/** The state of each container of a service, or of all, with its health or exit code. */
function states(stack: Stack, ...service: readonly string[]): string[] {
  const ids = stack
    .compose('ps', '--all', '--quiet', ...service)
    .split('\n')
    .filter(Boolean)
  const format =
    '{{.State.Status}} {{if .State.Running}}{{with .State.Health}}{{.Status}}{{end}}{{else}}{{.State.ExitCode}}{{end}}'
  return ids.map((id) => stack.docker('inspect', '--format', format, id).trim())
}

/** Whether a container is running and healthy, or has ended with exit code 0. */
function isHealthy(state: string): boolean {
  return state === 'running healthy' || state === 'exited 0'
}

type ReadFeed = (after: number) => Promise<Feed>

async function readChanges(base: string, key: string, after: number): Promise<Feed> {
  const address = `${base}/api/v1/watch-changes?after=${after}&wait=20`
  const response = await fetch(address, { headers: { authorization: `Bearer ${key}` } })
  if (!response.ok) throw new Error(`the API answers ${response.status}: ${await response.text()}`)
  return (await response.json()) as Feed
}

function untilChange(read: ReadFeed, after: number): Promise<Feed['items'][number]> {
  return until('a change', async () => (await read(after)).items.at(-1), 5 * MINUTES_MS)
}

/** Expects that the other worker continues alone, and that "up" replaces the killed one. */
async function killWorker(stack: Stack, read: ReadFeed): Promise<void> {
  const [worker = ''] = stack.compose('ps', '--quiet', 'worker').split('\n')
  const { seq } = await untilChange(read, 0)
  stack.docker('kill', worker)
  const next = await untilChange(read, seq)
  print(`a worker was killed, the other continues: ${next.kind}, ${next.seq}`)
  stack.compose('up', '--detach')
  await untilHealthy(stack)
  print('"up" has replaced it')
}

const call = findCompose()
if (call === undefined) {
  print('there is no container engine, or no compose: nothing was run')
  if (process.env.REQUIRE_CONTAINERS !== undefined) process.exitCode = 1
} else {
  const stack = createStack(call, PROJECT)
  try {
    await runStack(stack)
  } finally {
    stack.remove()
  }
}
