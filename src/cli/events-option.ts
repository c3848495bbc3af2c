import { Option } from 'commander'

export interface EventsOption {
  readonly events?: 'on' | 'off'
}

/** The option that turns the recording of events on or off. */
export function eventsOption(): Option {
  const description = 'turns the recording of events on or off (default: as it is)'
  return new Option('--events <state>', description).choices(['on', 'off'])
}

/** Returns the adapter's option of that name. */
export function recordsEvents({ events }: EventsOption): boolean | undefined {
  return events === undefined ? undefined : events === 'on'
}
