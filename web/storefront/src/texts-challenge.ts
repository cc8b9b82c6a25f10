import type { More } from "./texts.js";

/** The words of challenges. */
export const more: More = {
  "zh-CN": {
    slide: "拖动滑块，使拼图对齐",
    slideKeys: "也可以用方向键或按钮移动",
    left1: "左移",
    right1: "右移",
    confirm: "确定",
    image: "请输入图中的文字",
    imageAlt: "验证码图片",
    otherWay: "换一种方式（无需操作）",
    working: "正在自动验证，请稍候…",
    wrong: "没有对上，请再试一次",
    puzzle: "验证",
    site: "请完成下方的验证",
  },
  en: {
    slide: "Slide the piece into its place",
    slideKeys: "Arrow keys and the buttons move it too",
    left1: "Left",
    right1: "Right",
    confirm: "Confirm",
    image: "Type the text of the picture",
    imageAlt: "Picture with a text",
    otherWay: "Another way (nothing to do)",
    working: "Verifying by itself, one moment…",
    wrong: "That was not it; try again",
    puzzle: "Verification",
    site: "Complete the verification below",
  },
};
