import { type Config, SETTINGS } from './config.ts'

export interface ConfigLine {
  readonly name: string
  /** Redacted; null where unset. */
  readonly value: string | number | null
  readonly default: boolean
  readonly about: string
}

/** The configuration as it may be shown: secrets as `[set]`, URLs without their password. */
export function redactedConfig(config: Config): ConfigLine[] {
  return Object.entries(SETTINGS).map(([name, setting]) => {
    const value = config[name as keyof Config]
    return {
      name,
      value: value === undefined ? null : setting.secret ? redacted(String(value)) : value,
      default: value === setting.preset,
      about: setting.about,
    }
  })
}

function redacted(value: string): string {
  if (!URL.canParse(value)) return '[set]'
  const { protocol, host, pathname } = new URL(value)
  return host === '' ? '[set]' : `${protocol}//${host}${pathname}`
}
