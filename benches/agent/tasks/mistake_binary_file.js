// An image, read as a text.
import { call, wrong } from "../calls.js";

export default {
  mistake: true,
  facts: [/iVBORw0KGgo/],
  paddock: [wrong("read_file", { path: "assets/logo.png" }, { take: { mode: /mode[`:= "]+(base64)/ } }), call("read_file", { path: "assets/logo.png", mode: "{mode}" })],
};
