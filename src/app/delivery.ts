import { randomUUID } from 'node:crypto'
import { nextDeliveryMs } from '../delivery/dispatch/claim-deliveries.ts'
import { createDispatcher, type Dispatcher } from '../delivery/dispatch/dispatcher.ts'
import type { RecordedResults } from '../delivery/dispatch/record-results.ts'
import {
  eventAt,
  type OperatorEndpoint,
  type OperatorEvent,
} from '../delivery/endpoints/operator-events.ts'
import { createOpenTarget } from '../delivery/endpoints/sealer.ts'
import { CHATS, createChatFormat } from '../delivery/formats/chats.ts'
import { createEmailFormat } from '../delivery/formats/email.ts'
import type { Format, Message } from '../delivery/formats/format.ts'
import { createMailer } from '../delivery/formats/mailer.ts'
import { hashOfTarget, messageLimit, takeFromLimit } from '../delivery/formats/target-limits.ts'
import { createTemplateFormat } from '../delivery/formats/template.ts'
import { createTransport, type Transport } from '../delivery/formats/transport.ts'
import { createWebhookFormat } from '../delivery/formats/webhook.ts'
import { messageOf } from '../platform/base/errors.ts'
import { CHAT_FORMATS } from '../platform/base/kinds.ts'
import type { Loop } from '../platform/base/loop.ts'
import { createScrub, type Scrub } from '../platform/base/secrets.ts'
import { publicUrlOf } from '../platform/config/addresses.ts'
import { secretsOf } from '../platform/config/config.ts'
import { followHints } from '../platform/db/listener.ts'
import type { App } from './app.ts'
import { chatHostsOf, targetPolicyOf, targetRulesOf } from './settings-for.ts'

/** The delivery of records to endpoints in a worker process. */
export interface Delivery {
  readonly loops: readonly Loop[]
  /** Gives the requests in progress some time, and releases the rest. */
  close(graceMs: number): Promise<void>
}

/**
 * Delivers after every notification of new records, while deliveries wait, and every five seconds in case one was
 * lost.
 */
export function createDelivery(app: App): Delivery {
  const { config, database, log, listener } = app
  const { db } = database
  const scrub = createScrub(secretsOf(config))
  const transport = createTransport({ policy: targetPolicyOf(config), scrub })
  const dispatcher = createDispatcher({
    db,
    publicUrl: publicUrlOf(config),
    formats: formatsOf(app, transport, scrub, emailLimitOf(app)),
    openTarget: createOpenTarget(app.sealer),
    onRecorded: (recorded) => reportResults(app, recorded),
    random: Math.random,
    log,
  })
  // The loop repeats what fails here, and reports the error.
  const unsubscribe = listener.subscribe(
    'watch',
    followHints(() => dispatcher.dispatch()),
  )
  return {
    loops: [deliverLoop(app, dispatcher)],
    close: async (graceMs) => {
      unsubscribe()
      await dispatcher.close(graceMs)
      await transport.close()
    },
  }
}

type EmailLimit = (target: string) => Promise<number>

function emailLimitOf({ config, database: { db } }: App): EmailLimit {
  const limit = messageLimit(config.EMAIL_MESSAGES_PER_HOUR)
  return (target) => takeFromLimit(db, hashOfTarget({ format: 'email', target }), limit)
}

function formatsOf({ config }: App, transport: Transport, scrub: Scrub, limit: EmailLimit) {
  const hosts = chatHostsOf(config)
  const formats: readonly Format[] = [
    createWebhookFormat({ transport }),
    createTemplateFormat({ transport }),
    ...CHAT_FORMATS.map((name) => createChatFormat(CHATS[name], { transport, hosts: hosts[name] })),
    createEmailFormat({
      mailer: createMailer({ ...targetRulesOf(config).email, scrub }),
      limit,
      publicUrl: publicUrlOf(config),
    }),
  ]
  return formats
}

/** Sends events to the endpoints of operators from the memory of this process. */
export interface DirectSender {
  add(endpoints: readonly OperatorEndpoint[], events: readonly OperatorEvent[], now: Date): void
  /** Sends what is due. What fails is kept for the next call. Never rejects. */
  send(signal: AbortSignal): Promise<void>
  close(): Promise<void>
}

interface Unsent {
  readonly endpoint: OperatorEndpoint
  readonly dueAt: Date
  readonly message: Message
}

const MAX_UNSENT = 1_000

export function createDirectSender(app: App): DirectSender {
  const { config, clock, log } = app
  const scrub = createScrub(secretsOf(config))
  const transport = createTransport({ policy: targetPolicyOf(config), scrub })
  const formats = formatsOf(app, transport, scrub, async () => 0)
  const openTarget = createOpenTarget(app.sealer)
  let unsent: readonly Unsent[] = []

  const isOver = async (batch: readonly Unsent[], signal: AbortSignal): Promise<boolean> => {
    const [{ endpoint }] = batch as [Unsent]
    const format = formats.find(({ name }) => name === endpoint.format)
    try {
      const messages = batch.map(({ message }) => message)
      const result = await format?.send(openTarget(endpoint), messages, signal)
      return result?.kind !== 'failed' && result?.kind !== 'postponed'
    } catch (err) {
      log.warn({ endpointId: endpoint.id, reason: messageOf(err) }, 'cannot send from memory')
      return false
    }
  }
  return {
    add: (endpoints, events, now) => {
      const added = endpoints.flatMap((endpoint) =>
        events.map((event) => ({
          endpoint,
          dueAt: eventAt(endpoint, event, now),
          message: { ...event, deliveryId: randomUUID(), timestamp: now.toISOString() },
        })),
      )
      unsent = [...unsent, ...added].slice(-MAX_UNSENT)
    },
    send: async (signal) => {
      const due = unsent.filter(({ dueAt }) => dueAt <= clock.now())
      const batches = [...Map.groupBy(due, ({ endpoint }) => endpoint.id).values()].flatMap(
        (own) => (joinsMessages(own, formats) ? [own] : own.map((one) => [one])),
      )
      const ended = await Promise.all(batches.map((batch) => isOver(batch, signal)))
      const over = new Set(batches.filter((_, i) => ended[i]).flat())
      unsent = unsent.filter((one) => !over.has(one))
    },
    close: () => transport.close(),
  }
}

function joinsMessages([first]: readonly Unsent[], formats: readonly Format[]): boolean {
  return formats.some(({ name, maxMessages }) => name === first?.endpoint.format && maxMessages > 1)
}

function deliverLoop({ database: { db } }: App, dispatcher: Dispatcher): Loop {
  return {
    name: 'deliver',
    atMostMs: 5_000,
    run: async () => {
      const dueMs = await nextDeliveryMs(db)
      const isDue = dueMs !== undefined && dueMs <= 0
      if (!isDue && !dispatcher.hasUnrecorded()) return dueMs
      await dispatcher.dispatch()
      return nextDeliveryMs(db)
    },
  }
}

/** The lag is that of webhooks alone: a digest or a limit delays messages for people on purpose. */
function reportResults({ log, metrics }: App, { deliveries, disabled }: RecordedResults): void {
  for (const { outcome, lagMs, format } of deliveries) {
    metrics.webhookDeliveries.inc({ outcome })
    if (outcome === 'delivered' && format === 'webhook') metrics.webhookLag.observe(lagMs / 1000)
  }
  for (const endpointId of disabled) {
    log.warn({ endpointId }, 'endpoint answered that it is gone and is disabled')
  }
}
