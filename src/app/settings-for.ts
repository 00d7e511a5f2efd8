import type { TargetRules } from '../delivery/endpoints/endpoint-settings.ts'
import type { ChatHosts } from '../delivery/formats/chats.ts'
import type { TargetPolicy } from '../delivery/formats/target-policy.ts'
import type { VerifyDeps } from '../fares/check.ts'
import { type CronTimes, longestGapMs } from '../platform/base/cron.ts'
import { CHAT_FORMATS, type ChatFormat, type RouteListName } from '../platform/base/kinds.ts'
import type { Logger } from '../platform/base/logger.ts'
import { isLoopbackHost } from '../platform/base/loopback.ts'
import { splitList } from '../platform/base/text.ts'
import type { Config } from '../platform/config/settings.ts'
import type { Metrics } from '../platform/metrics/metrics.ts'
import { GUARD_LIMITS, type GuardLimits } from '../routes/guard.ts'

/** The limits of the guard: one is a setting, in percent. */
export function guardLimitsOf(config: Config): GuardLimits {
  return { ...GUARD_LIMITS, absentShare: config.GUARD_ABSENT_PERCENT / 100 }
}

/** Where webhooks may go. */
export function targetPolicyOf(config: Config): TargetPolicy {
  return {
    allowHttp: config.WEBHOOK_ALLOW_HTTP === 'on',
    allowedNetworks: splitList(config.WEBHOOK_ALLOWED_NETWORKS),
  }
}

export function chatHostsOf(config: Config): ChatHosts {
  const hosts = CHAT_FORMATS.map((name) => {
    const setting = `${name.toUpperCase()}_HOSTS` as `${Uppercase<ChatFormat>}_HOSTS`
    return [name, splitList(config[setting])]
  })
  return Object.fromEntries(hosts)
}

/** What the operator allows as targets of endpoints. */
export function targetRulesOf(config: Config): TargetRules {
  return {
    urls: targetPolicyOf(config),
    chatHosts: chatHostsOf(config),
    email: {
      smtpUrl: config.SMTP_URL,
      from: config.EMAIL_FROM,
    },
  }
}

/** Whether the access token of the upstream crosses a network unencrypted. */
export function sendsTokenInClear(config: Config): boolean {
  const { UPSTREAM_BASE_URL: url, UPSTREAM_ACCESS_TOKEN: token } = config
  if (url === undefined || token === undefined) return false
  const { protocol, host } = new URL(url)
  return protocol === 'http:' && !isLoopbackHost(host)
}

export const IN_CLEAR = 'UPSTREAM_BASE_URL is http: anybody on the way can read the access token'

/** Call it where calls to the upstream begin. */
export function warnOfTokenInClear({ config, log }: { config: Config; log: Logger }): void {
  if (sendsTokenInClear(config)) log.warn({ upstream: config.UPSTREAM_BASE_URL }, IN_CLEAR)
}

export function verifyRulesOf(config: Config): VerifyDeps['rules'] {
  return {
    requestsPerSecond: config.UPSTREAM_REQUESTS_PER_SECOND,
    minRecheckSeconds: config.MIN_INTERVAL_SECONDS,
    lossConfirmations: config.LOSS_CONFIRMATIONS,
    gainConfirmations: config.GAIN_CONFIRMATIONS,
    massHoldMs: config.MASS_HOLD_MINUTES * 60_000,
  }
}

/** The name of the job scheduler of a list. */
export const syncNameOf = (list: RouteListName) => `sync-${list}`

/** When a list is fetched. */
export interface ListSchedule {
  readonly list: RouteListName
  readonly times: CronTimes
}

/** The schedules of both route lists, the routes first. */
export function schedulesOf(config: Config): ListSchedule[] {
  const zone = config.SYNC_TIME_ZONE
  return [
    { list: 'routes', times: { pattern: config.ROUTE_SYNC_SCHEDULE, zone } },
    { list: 'with-availability', times: { pattern: config.AVAILABILITY_SYNC_SCHEDULE, zone } },
  ]
}

/** Sets the longest time between two lists. The alert on the age of a list compares with it. */
export function setIntervalGauges(config: Config, metrics: Metrics, now: Date): void {
  for (const { list, times } of schedulesOf(config)) {
    metrics.syncInterval.set({ list }, longestGapMs(times, now) / 1000)
  }
}
