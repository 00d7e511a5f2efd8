/** One parameter of a fault. */
export interface Parameter<T> {
  readonly initial: T
  /** What it accepts, as it stands in a message after "must be". */
  readonly accepts: string
  /** Undefined for what it does not accept. */
  readonly read: (given: unknown) => T | undefined
}

export type ParameterTable = Readonly<Record<string, Parameter<unknown>>>

export type Values<P extends ParameterTable> = {
  readonly [Name in keyof P]: P[Name] extends Parameter<infer T> ? T : never
}

export function integer({
  min,
  max,
  initial,
}: Readonly<Record<'min' | 'max' | 'initial', number>>): Parameter<number> {
  return {
    initial,
    accepts: `a whole number from ${min} to ${max}`,
    read: (given) =>
      typeof given === 'number' && Number.isInteger(given) && given >= min && given <= max
        ? given
        : undefined,
  }
}

/** A parameter with one of these values. If unset, it has the first one. */
export function oneOf<const T extends string | number>(
  ...choices: readonly [T, ...T[]]
): Parameter<T> {
  return {
    initial: choices[0],
    accepts: `one of ${choices.join(', ')}`,
    read: (given) => choices.find((choice) => choice === given),
  }
}

export function httpOrigin(initial: string): Parameter<string> {
  return textParameter(initial, 'an http or https URL', isHttpUrl)
}

/** A media type that is a valid header. */
export function mediaType(initial: string): Parameter<string> {
  return textParameter(initial, 'a media type such as text/plain', (text) =>
    /^[\w.+-]+\/[\w.+-]+$/.test(text),
  )
}

function textParameter(
  initial: string,
  accepts: string,
  isAccepted: (text: string) => boolean,
): Parameter<string> {
  const read = (given: unknown) =>
    typeof given === 'string' && isAccepted(given) ? given : undefined
  return { initial, accepts, read }
}

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}
