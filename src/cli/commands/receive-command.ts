import { once } from 'node:events'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { targetRulesOf } from '../../app/settings-for.ts'
import { deleteEndpoint, type EndpointDeps } from '../../delivery/endpoints/change-endpoints.ts'
import type { EndpointOwner } from '../../delivery/endpoints/endpoint-queries.ts'
import { addTestEvent } from '../../delivery/endpoints/test-events.ts'
import { urlFault } from '../../delivery/formats/target-policy.ts'
import {
  RECEIVER_NETWORK,
  RECEIVER_PORT,
  registerReceiver,
  type ShownWebhook,
  secretFault,
  startReceiver,
} from '../../delivery/receiver.ts'
import { systemClock } from '../../platform/base/clock.ts'
import { listLiveProcesses, missingWork } from '../../platform/db/live-processes.ts'
import { assertPortUsable } from '../../platform/http/server.ts'
import { requireReseller } from '../../resellers/resellers.ts'
import { type CliContext, createContext, withApp } from '../context.ts'
import { UsageError } from '../exit-codes.ts'
import { addressOption, integerOption } from '../option-parsers.ts'
import { example, printable } from '../text/text-format.ts'

interface ReceiveFlags {
  readonly host: string
  readonly port: number
  readonly secret?: string
  readonly reseller?: string
  readonly json?: boolean
}

export function addReceiveCommand(program: Command): void {
  program
    .command('receive')
    .description('Receive webhooks, verify them and print each as a line')
    .option('--host <address>', 'the address; 0.0.0.0 is every address', addressOption, '127.0.0.1')
    .option(
      '--port <port>',
      'the port; 0 takes any free one',
      integerOption(0, 65_535),
      RECEIVER_PORT,
    )
    .option(
      '--reseller <name>',
      'create an endpoint of this reseller for it, and delete it at the end',
    )
    .addOption(
      new Option('--secret <whsec>', 'the secret of an endpoint that exists')
        .argParser(secretOption)
        .conflicts('reseller'),
    )
    .option('--json', 'print one line of JSON per webhook')
    .addHelpText(
      'after',
      `\nWithout --reseller and --secret nothing is verified. Endpoints may deliver to this machine if WEBHOOK_ALLOWED_NETWORKS\ncontains ${RECEIVER_NETWORK}; "up" with its own database and sandbox allows it.`,
    )
    .addHelpText('after', example('receive --reseller demo'))
    .action(receive)
}

async function receive(flags: ReceiveFlags): Promise<void> {
  const { reseller } = flags
  if (reseller === undefined) return receiveUntilStopped(createContext(), flags)
  const needs = { role: 'receive', quiet: false, endsItself: true }
  await withApp(needs, async ({ database: { db }, config, sealer }, context) => {
    const owner = { db, resellerId: (await requireReseller(db, reseller)).id }
    const deps = { sealer, targetRules: targetRulesOf(config) }
    await receiveUntilStopped(context, flags, (target) => openEndpoint(owner, deps, target))
  })
}

interface OpenedEndpoint {
  readonly id: string
  readonly secret: string | null
  /** Whether a process sends webhooks now. */
  readonly isServed: boolean
  close(): Promise<void>
}

async function receiveUntilStopped(
  { terminal, log, signal }: CliContext,
  { host, port, json, ...given }: ReceiveFlags,
  open?: (target: string) => Promise<OpenedEndpoint>,
): Promise<void> {
  let secret = given.secret
  await assertPortUsable({ host, port, setting: '--port' })
  const receiver = await startReceiver({
    host,
    port,
    secret: () => secret,
    now: () => systemClock.now(),
    onWebhook: (webhook) => terminal.print(json, webhook, () => lineOf(webhook)),
  })
  try {
    const endpoint = await open?.(receiver.url)
    secret ??= endpoint?.secret ?? undefined
    const of = endpoint === undefined ? '' : ` for the endpoint ${endpoint.id}`
    if (terminal.interactive) terminal.step(`webhooks arrive at ${receiver.url}${of}; Ctrl-C stops`)
    else log.info({ receiver: receiver.url, endpoint: endpoint?.id }, 'ready')
    if (endpoint?.isServed === false) log.warn('no process sends webhooks now: start farewatch')
    if (!signal.aborted) await once(signal, 'abort')
    await endpoint?.close()
  } finally {
    await receiver.close()
  }
  terminal.step('stopped')
}

/** Opens an endpoint that delivers to this machine, and sends it a test event. */
async function openEndpoint(
  owner: EndpointOwner,
  deps: EndpointDeps,
  target: string,
): Promise<OpenedEndpoint> {
  const { hostname, port } = new URL(target)
  if (urlFault(target, deps.targetRules.urls) !== undefined) {
    throw new UsageError(
      `endpoints may not deliver to ${target}: set WEBHOOK_ALLOWED_NETWORKS=${hostname}/32:${port} in .env, and start farewatch again`,
    )
  }
  const description = `bin/farewatch receive at ${target}`
  const { id, secret } = await registerReceiver(owner, deps, { target, description })
  await addTestEvent(owner, id)
  const processes = await listLiveProcesses(owner.db)
  const isServed = !missingWork(processes.map(({ role }) => role)).includes('deliver')
  return { id, secret, isServed, close: () => deleteEndpoint(owner, id) }
}

function lineOf({ seq, outcome, text }: ShownWebhook): string {
  return `${String(seq ?? '').padStart(6)}  ${outcome.padEnd(12)}  ${printable(text)}`
}

function secretOption(text: string): string {
  const fault = secretFault(text)
  if (fault !== undefined) throw new InvalidArgumentError(fault)
  return text
}
