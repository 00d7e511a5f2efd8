import { SandboxFaultError } from './fault-rule.ts'

const NUMBER = /^-?\d+(\.\d+)?$/
const FORM = 'NAME[:endpoint][:probability][:seconds][,key=value…]'

/**
 * Takes a rule of one line apart, for readRules to check. What stands empty between two colons is not given.
 * Throws SandboxFaultError for text of another form.
 *
 * @example parseFaultText('status:verify:0.2:60,code=503')
 * // { name: 'status', endpoint: 'verify', probability: 0.2, durationSeconds: 60, code: 503 }
 */
export function parseFaultText(text: string): Record<string, unknown> {
  const [head = '', ...pairs] = text.split(',')
  const [name = '', endpoint = '', probability = '', seconds = '', ...more] = head.split(':')
  if (more.length > 0) throw new SandboxFaultError(`"${head}" has more than the four of ${FORM}`)
  const given = { name, endpoint, probability, durationSeconds: seconds }
  const parameters = pairs.map((pair) => {
    const at = pair.indexOf('=')
    if (at < 1) throw new SandboxFaultError(`"${pair}" is no key=value of ${FORM}`)
    return [pair.slice(0, at), pair.slice(at + 1)] as const
  })
  const taken = [...Object.entries(given).filter(([, value]) => value !== ''), ...parameters]
  return Object.fromEntries(taken.map(([key, value]) => [key, numberOrText(value)]))
}

function numberOrText(text: string): string | number {
  return NUMBER.test(text) ? Number(text) : text
}
