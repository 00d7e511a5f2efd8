import { once } from 'node:events'
import { type Command, InvalidArgumentError } from 'commander'
import { type ShownWebhook, secretFault, startReceiver } from '../../delivery/receiver.ts'
import { systemClock } from '../../platform/base/clock.ts'
import { assertPortUsable } from '../../platform/http/server.ts'
import { createContext } from '../context.ts'
import { addressOption, integerOption } from '../option-parsers.ts'
import { example, printable } from '../text/text-format.ts'

interface ReceiveFlags {
  readonly host: string
  readonly port: number
  readonly secret?: string
  readonly json?: boolean
}

export function addReceiveCommand(program: Command): void {
  program
    .command('receive')
    .description('Receive webhooks, verify them and print each as a line')
    .option('--host <address>', 'the address; 0.0.0.0 is every address', addressOption, '127.0.0.1')
    .option('--port <port>', 'the port; 0 takes any free one', integerOption(0, 65_535), 8092)
    .option(
      '--secret <whsec>',
      'the secret of the endpoint; without it nothing is verified',
      secretOption,
    )
    .option('--json', 'print one line of JSON per webhook')
    .addHelpText(
      'after',
      '\nAn endpoint may have the URL http://127.0.0.1:8092 if WEBHOOK_ALLOWED_NETWORKS contains 127.0.0.1/32.',
    )
    .addHelpText('after', example('receive --port 8093 --secret whsec_…'))
    .action(receive)
}

async function receive({ host, port, secret, json }: ReceiveFlags): Promise<void> {
  const { terminal, log, signal } = createContext()
  await assertPortUsable({ host, port, setting: '--port' })
  const receiver = await startReceiver({
    host,
    port,
    secret: () => secret,
    now: () => systemClock.now(),
    onWebhook: (webhook) => terminal.print(json, webhook, () => lineOf(webhook)),
  })
  if (terminal.interactive) terminal.step(`webhooks arrive at ${receiver.url}; Ctrl-C stops`)
  else log.info({ receiver: receiver.url }, 'ready')
  if (!signal.aborted) await once(signal, 'abort')
  await receiver.close()
  terminal.step('stopped')
}

function lineOf({ seq, outcome, text }: ShownWebhook): string {
  return `${String(seq ?? '').padStart(6)}  ${outcome.padEnd(12)}  ${printable(text)}`
}

function secretOption(text: string): string {
  const fault = secretFault(text)
  if (fault !== undefined) throw new InvalidArgumentError(fault)
  return text
}
