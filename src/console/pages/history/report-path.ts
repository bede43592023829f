/** The path of an alarm's report, within the history; its query names location, alarm and device. */
export const REPORT_PATH = '/history/alarm';
